// Package edits finds the place of an edit in a text, as models write edits: with other
// space at the ends of lines, or indented in another way. It reads no file.
package edits

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// mostPlaces is how many places one edit may replace.
const mostPlaces = 1 << 20

var (
	// ErrNoPlace says that the text of Edit.Search is not in the file.
	ErrNoPlace = errors.New("text not found")
	// ErrAmbiguous says that the text of Edit.Search is in the file several times.
	ErrAmbiguous = errors.New("text found several times")
)

// An Edit replaces text. Its fields are as in procfile.Edit.
type Edit struct {
	Search, Replace string
	All             bool
}

// An Outcome is a text after an edit.
type Outcome struct {
	Text    string
	Changes []Change // in the order of the text
	Places  int
	Loose   bool // not as it is, but by its lines
}

// A Change is a part of a text, From one offset To another, that an edit has replaced. What
// came there has its Start and its End in the text after the edit.
type Change struct{ From, To, Start, End int }

// check returns the error of an edit that can never be made.
func (e Edit) check() error {
	switch {
	case !utf8.ValidString(e.Search) || !utf8.ValidString(e.Replace):
		return xerrors.Errorf("search or replace is no UTF-8: %w", procmgr.ErrInvalid)
	case e.Search == "":
		return xerrors.Errorf("search is empty; give lines beside the place, and repeat them in replace: %w", procmgr.ErrInvalid)
	case e.Search == e.Replace:
		return xerrors.Errorf("search and replace are the same: %w", procmgr.ErrInvalid)
	}
	return nil
}

// Make makes an edit of a text. What an error quotes of the text is masked by mask.
func Make(s string, e Edit, mask func(line string) string) (Outcome, error) {
	t := newText(s)
	if err := e.check(); err != nil {
		return Outcome{}, err
	}
	search, replace := strings.ReplaceAll(e.Search, "\r\n", "\n"), strings.ReplaceAll(e.Replace, "\r\n", "\n")
	exact, err := t.exact(search, replace, e.All)
	if err != nil {
		return Outcome{}, err
	}
	if len(exact) > 0 && !t.shifted(exact, search) {
		return t.framed(e, search, exact)
	}
	var pieces []piece
	whole := newBlock(search, replace)
	for _, way := range [...]struct {
		same   func(string) string
		indent bool
	}{{endTrimmed, false}, {allTrimmed, true}} {
		keys := t.keys(way.same)
		for _, b := range [...]*block{whole, whole.without()} {
			if b == nil {
				continue
			}
			in := &indents{model: b, file: t}
			line := func(j int) string { return b.replace[j] }
			if way.indent {
				line = in.line
			}
			clear := true
			for _, at := range b.places(keys, way.same) {
				clear = (!way.indent || in.move(at) || b.nothing) && clear
				p := b.piece(t, at, line)
				if way.indent && len(b.search) == 1 && len(b.replace) > 1 && indentOf(b.search[0]) == "" {
					begin := t.lines[at] + len(indentOf(t.text(at)))
					var err error
					if p, _, err = t.frame(piece{begin, begin + len(allTrimmed(t.text(at))), strings.Join(b.replace, "\n")}, b.search[0]); err != nil {
						return Outcome{}, err
					}
				}
				pieces = append(pieces, p)
			}
			if !clear && (e.All || len(pieces) == 1) {
				return Outcome{}, xerrors.Errorf("search is at line %d, but without the indentation of the file, so it is not clear how replace is indented; give both with it: %w", t.line(pieces[0].from)+1, ErrAmbiguous)
			}
			if len(pieces) > 0 {
				return t.finish(e, pieces, true)
			}
		}
	}
	if len(exact) > 0 {
		return t.framed(e, search, exact)
	}
	return Outcome{}, xerrors.Errorf("%s: %w", t.differs(search, mask), ErrNoPlace)
}

// shifted reports whether a search is there as it is only behind some of the indentation
// of each place: another line may then be as near to it.
func (t text) shifted(pieces []piece, search string) bool {
	return indentOf(search) != "" && !slices.ContainsFunc(pieces, func(p piece) bool {
		head := t.plain[t.lines[t.line(p.from)]:p.from]
		return head == "" || allTrimmed(head) != ""
	})
}

// framed is finish for places at which the search is as it is.
func (t text) framed(e Edit, search string, pieces []piece) (Outcome, error) {
	loose := false
	if e.All || len(pieces) == 1 {
		for i, p := range pieces {
			if t.cut(p, search) {
				return Outcome{}, xerrors.Errorf("search ends where line %d is cut as it is shown, and the rest of that line would come behind replace; let replace end as search does, or use a command: %w", t.line(p.to)+1, procmgr.ErrInvalid)
			}
			p, text, kept := t.keepEnds(p, search)
			p, changed, err := t.frame(p, text)
			if err != nil {
				return Outcome{}, err
			}
			pieces[i], loose = p, loose || kept || changed
		}
	}
	return t.finish(e, pieces, loose)
}

// shownLine is how much of a line its reader has seen at most, MaxLine of package procfile.
const shownLine = 1024

// cut reports whether a search ends with all that its reader has seen of a line, and the
// replacement with another line.
func (t text) cut(p piece, search string) bool {
	shown := t.plain[t.lines[t.line(p.to)]:p.to]
	if len(shown) > shownLine || len(shown) <= shownLine-utf8.UTFMax || p.to == len(t.plain) || t.plain[p.to] == '\n' {
		return false
	}
	last := func(s string) string { return s[strings.LastIndexByte(s, '\n')+1:] }
	return allTrimmed(strings.TrimSuffix(shown, last(search))) == "" && Like(last(search), last(p.with)) < 0.5
}

// keepEnds keeps line ends at the beginning and at the end of whole lines that a search has
// and its replacement has not: without them the lines would be joined to those beside them.
// It returns the search that is left, and whether it has kept one.
func (t text) keepEnds(p piece, search string) (piece, string, bool) {
	kept := false
	if lines := strings.TrimLeft(search, "\n"); lines != search && lines != "" && p.with != "" && p.with[0] != '\n' {
		was, is := linesOf(lines), linesOf(p.with)
		whole := strings.HasSuffix(lines, "\n") || indentOf(was[0]) != "" || slices.ContainsFunc(is, func(line string) bool { return allTrimmed(line) != "" && slices.Contains(was, line) })
		if p.with != lines && whole && indentOf(was[0]) == indentOf(is[0]) {
			p.from, search, kept = p.from+1, search[1:], true
		}
	}
	head := t.plain[t.lines[t.line(p.from)]:p.from]
	if allTrimmed(head) == "" && p.with != "" && !strings.HasSuffix(p.with, "\n") && strings.TrimSpace(search) != "" && t.plain[p.to-1] == '\n' && p.with+"\n" != search {
		p.with, kept = p.with+"\n", true
	}
	return p, search, kept
}

// frame indents the other lines of a replacement whose search is there as it is. If the
// search has several lines, they have the indentation of the file, and so has the
// replacement. If it has one, the others may be indented as the file is, or from that line
// on: the latter if one of them is less deep than the line in the file, or if the first one
// opens a block and the next one is not deeper. Where neither is clear the edit is refused.
// frame reports whether it has changed the piece.
func (t text) frame(p piece, search string) (piece, bool, error) {
	at := t.line(p.from)
	head := t.plain[t.lines[at]:p.from]
	base, inside := indentOf(t.text(at)), allTrimmed(head) != ""
	if strings.HasPrefix(strings.TrimLeft(head, " \t"), "- ") { // an item of a list of YAML
		base = strings.Repeat(" ", len(head))
	}
	found, lines := linesOf(search), strings.Split(p.with, "\n")
	blank := func(line string) bool { return allTrimmed(line) == "" }
	if !inside && head != "" && (p.with == "" && strings.HasSuffix(search, "\n") || len(lines) > 1 && blank(lines[0])) {
		p.from = t.lines[at] // no line is left for the indentation
		return p, true, nil
	}
	in := &indents{model: &block{search: found, replace: lines, stays: stays(found, lines)}, file: t}
	if in.move(at); blank(found[0]) || len(lines) < 2 || in.literal() {
		return p, false, nil
	}
	in.pairs[0] = pair{0, indentOf(found[0]), base}
	if inside || head != "" {
		in.pairs[0].model = ""
	}
	as, own := slices.Clone(lines), slices.Clone(lines) // as the file is, and from that line on
	fromHere, unclear := head == "", false
	next := 1 // the line that follows the first one
	for j, line := range lines[1:] {
		is := indentOf(line)
		if blank(line) {
			if next == j+1 {
				next++
			}
			continue
		}
		own[j+1] = in.of(is, j+1) + line[len(is):]
		if is != "" && base != "" && is[0] != base[0] { // tabs for spaces, or the other way round
			as[j+1] = in.convert(is) + line[len(is):]
		}
		less, same := !strings.HasPrefix(indentOf(as[j+1]), base), indentOf(as[j+1]) == base && j+1 == next
		fromHere = fromHere || less || same && opens(lines[0])
		unclear = unclear || less && blank(lines[j]) || same && lines[0] != found[0] && strings.Contains(lines[0], ":") && !opens(lines[0])
	}
	if unclear && base != "" && head != "" {
		return p, false, xerrors.Errorf("search begins behind the indentation of line %d, and it is not clear from where the other lines of replace are indented; give whole lines in both, with the indentation that the file has: %w", at+1, ErrAmbiguous)
	}
	if !fromHere {
		own = as
	}
	changed := !slices.Equal(own, lines)
	p.with = strings.Join(own, "\n")
	return p, changed, nil
}

// finish replaces the places at which an edit was found.
func (t text) finish(e Edit, pieces []piece, loose bool) (Outcome, error) {
	if len(pieces) > 1 && !e.All {
		return Outcome{}, xerrors.Errorf("search is there %s, at the lines %s; take in a line before or behind it that is there once, or set all: %w",
			times(len(pieces)), t.numbers(pieces), ErrAmbiguous)
	}
	apart := pieces[:0:0]
	for _, p := range pieces {
		if n := len(apart); n == 0 || p.from >= apart[n-1].to {
			apart = append(apart, p)
		}
	}
	s, changes := t.replace(apart)
	return Outcome{s, changes, len(apart), loose}, nil
}

// mostNumbers is how many line numbers an error has.
const mostNumbers = 20

func times(n int) string {
	if n >= mostAmbiguous {
		return fmt.Sprintf("%d times and more", n)
	}
	return fmt.Sprintf("%d times", n)
}

func (t text) numbers(pieces []piece) string {
	var all []string
	for i, p := range pieces {
		if i == mostNumbers {
			return strings.Join(all, ", ") + ", …"
		}
		if number := fmt.Sprint(t.line(p.from) + 1); len(all) == 0 || all[len(all)-1] != number {
			all = append(all, number)
		}
	}
	return strings.Join(all, ", ")
}

// mostAmbiguous is how many places are counted if there may be one alone.
const mostAmbiguous = 1000

// exact returns the exact matches of the search: without overlaps if all are to be
// replaced, and otherwise with the overlapping ones.
func (t text) exact(search, replace string, all bool) (pieces []piece, err error) {
	for i := 0; ; {
		n := strings.Index(t.plain[i:], search)
		if n < 0 || !all && len(pieces) == mostAmbiguous {
			last := strings.TrimSuffix(search, "\n")
			if len(pieces) > 0 && last != search && !strings.HasSuffix(last, "\n") && strings.HasSuffix(t.plain, last) {
				// The last line has no end, and is as good a place.
				pieces = append(pieces, piece{len(t.plain) - len(last), len(t.plain), strings.TrimSuffix(replace, "\n")})
			}
			return pieces, nil
		}
		if len(pieces) == mostPlaces {
			return nil, xerrors.Errorf("search is there over %d times; use a command, such as sed -i: %w", mostPlaces, procmgr.ErrLimit)
		}
		i += n
		pieces = append(pieces, piece{i, i + len(search), replace})
		if all {
			i += len(search)
		} else {
			i++
		}
	}
}

func endTrimmed(line string) string { return strings.TrimRight(line, " \t\r") }
func allTrimmed(line string) string { return strings.Trim(line, " \t\r") }

// keys returns what counts of each line.
func (t text) keys(same func(string) string) []string {
	keys := make([]string, t.count())
	for i := range keys {
		keys[i] = same(t.text(i))
	}
	return keys
}

// A block is an edit by lines.
type block struct {
	search, replace []string
	// nothing says that the lines go, together with their ends.
	nothing bool
	// stays has for each line of replace the line of search that it is, or -1.
	stays []int
}

func newBlock(search, replace string) *block {
	b := &block{search: linesOf(search), replace: strings.Split(replace, "\n")}
	if strings.HasSuffix(search, "\n") { // the ends of the last lines belong together
		b.replace = linesOf(replace)
	}
	b.nothing = replace == "" && strings.HasSuffix(search, "\n")
	b.stays = stays(b.search, b.replace)
	return b
}

// mostCells is the largest table that stays fills: some milliseconds, and 4 MiB.
const mostCells = 1 << 20

// stays returns for each line of replace the line of search that it is, or -1: a longest
// common sequence of them. Between the first and the last line that differ, none stays if
// there are over a thousand lines in both.
func stays(search, replace []string) []int {
	is := make([]int, len(replace))
	for i := range is {
		is[i] = -1
	}
	a, b := trimmed(search), trimmed(replace)
	from := 0
	for from < min(len(a), len(b)) && a[from] == b[from] {
		is[from] = from
		from++
	}
	for len(a) > from && len(b) > from && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
		is[len(b)] = len(a)
	}
	a, b = a[from:], b[from:]
	width := len(b) + 1
	if len(a)*len(b) > mostCells {
		return is
	}
	length := make([]int32, (len(a)+1)*width) // of the sequence behind each pair of places
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if at := i*width + j; a[i] == b[j] {
				length[at] = length[at+width+1] + 1
			} else {
				length[at] = max(length[at+width], length[at+1])
			}
		}
	}
	for i, j := 0, 0; i < len(a) && j < len(b); {
		switch at := i*width + j; {
		case a[i] == b[j]:
			is[from+j] = from + i
			i, j = i+1, j+1
		case length[at+width] >= length[at+1]:
			i++
		default:
			j++
		}
	}
	return is
}

func trimmed(lines []string) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		all[i] = endTrimmed(line)
	}
	return all
}

// opens reports whether the lines behind a line are deeper.
func opens(line string) bool {
	line = allTrimmed(line)
	switch {
	case line == "", strings.HasPrefix(line, "#"), strings.HasPrefix(line, "//"):
		return false
	}
	return strings.ContainsRune(":{([", rune(line[len(line)-1])) || strings.HasSuffix(line, "; then") || strings.HasSuffix(line, "; do")
}

// flat reports that the replacement has lost its levels: no line of the block is indented,
// although one of the replacement opens the next.
func (b *block) flat() (lost bool) {
	if slices.ContainsFunc(b.search, func(line string) bool { return indentOf(line) != "" }) {
		return false
	}
	last := -1
	for j, line := range b.replace {
		switch {
		case allTrimmed(line) == "":
			continue
		case indentOf(line) != "":
			return false
		case last >= 0 && opens(b.replace[last]) && min(b.stays[last], b.stays[j]) < 0:
			lost = true
		}
		last = j
	}
	return lost
}

func linesOf(s string) []string { return strings.Split(strings.TrimSuffix(s, "\n"), "\n") }

// without returns the block without the empty lines at the beginning and at the end
// of its search, or nil if there are none or nothing else. As many go from the
// replacement, if it has them.
func (b *block) without() *block {
	blank := func(line string) bool { return allTrimmed(line) == "" }
	c := &block{search: b.search, replace: b.replace, nothing: b.nothing}
	for len(c.search) > 0 && blank(c.search[0]) {
		c.search = c.search[1:]
		if len(c.replace) > 0 && blank(c.replace[0]) {
			c.replace = c.replace[1:]
		}
	}
	for len(c.search) > 0 && blank(c.search[len(c.search)-1]) {
		c.search = c.search[:len(c.search)-1]
		if n := len(c.replace); n > 0 && blank(c.replace[n-1]) {
			c.replace = c.replace[:n-1]
		}
	}
	if len(c.search) == 0 || len(c.search) == len(b.search) {
		return nil
	}
	c.nothing = c.nothing || len(c.replace) == 0
	c.stays = stays(c.search, c.replace)
	return c
}

// places returns the lines at which the block is.
func (b *block) places(keys []string, same func(string) string) (at []int) {
	want := make([]string, len(b.search))
	something := false
	for i, line := range b.search {
		want[i] = same(line)
		something = something || allTrimmed(line) != ""
	}
	if !something {
		return nil // empty lines are everywhere
	}
next:
	for i := 0; i+len(want) <= len(keys) && len(at) < mostPlaces; i++ {
		for k, w := range want {
			if keys[i+k] != w {
				continue next
			}
		}
		at = append(at, i)
	}
	return at
}

// piece returns what comes to a place: the lines that stay, as the file has them, and
// the others as line returns them.
func (b *block) piece(t text, at int, line func(j int) string) piece {
	p := piece{from: t.lines[at], to: t.end(at + len(b.search) - 1)}
	ended := p.to > p.from && t.plain[p.to-1] == '\n'
	if b.nothing {
		if !ended && p.from > 0 {
			p.from-- // the line before becomes the last one
		}
		return p
	}
	if ended {
		p.to--
	}
	lines := make([]string, len(b.replace))
	for j, k := range b.stays {
		if k >= 0 {
			lines[j] = t.text(at + k)
		} else {
			lines[j] = line(j)
		}
	}
	p.with = strings.Join(lines, "\n")
	return p
}
