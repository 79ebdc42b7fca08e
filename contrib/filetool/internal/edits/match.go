// Package edits makes edits of a text as models write them: a text that is there, and what
// comes in its place. It reads no file.
package edits

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

var (
	// ErrNoPlace says that the text of Edit.Search is not in the file.
	ErrNoPlace = errors.New("text not found")
	// ErrAmbiguous says that the text of Edit.Search is in the file several times, or
	// that it is not clear how Edit.Replace is indented.
	ErrAmbiguous = errors.New("ambiguous edit")
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
	if err := e.check(); err != nil {
		return Outcome{}, err
	}
	t := newText(s)
	search, replace := strings.ReplaceAll(e.Search, "\r\n", "\n"), strings.ReplaceAll(e.Replace, "\r\n", "\n")
	if err := keepsEnds(search, replace); err != nil {
		return Outcome{}, err
	}
	pieces, err := t.places(search, replace, e.All)
	switch {
	case err != nil:
		return Outcome{}, err
	case len(pieces) == 0:
		return Outcome{}, xerrors.Errorf("%s: %w", t.differs(search, mask), ErrNoPlace)
	case len(pieces) > 1 && !e.All:
		return Outcome{}, xerrors.Errorf("search is there %s, at the lines %s; take in a line before or behind it that is there once, or set all: %w",
			times(len(pieces)), t.numbers(pieces), ErrAmbiguous)
	}
	if err := t.indentedAlike(pieces); err != nil {
		return Outcome{}, err
	}
	apart := pieces[:0:0]
	for _, p := range pieces {
		if err := t.fits(p, search); err != nil {
			return Outcome{}, err
		}
		if n := len(apart); n == 0 || p.from >= apart[n-1].to {
			apart = append(apart, p)
		}
	}
	after, changes := t.replace(apart)
	return Outcome{after, changes, len(apart)}, nil
}

// keepsEnds returns an error if a replacement has lost a line end with which the search
// begins or ends: then two lines would become one. It returns nil if to take that line end
// away is all that the edit does, or if the search goes with one of its line ends alone.
func keepsEnds(search, replace string) error {
	first := strings.HasPrefix(search, "\n") && !strings.HasPrefix(replace, "\n") && "\n"+replace != search
	last := strings.HasSuffix(search, "\n") && !strings.HasSuffix(replace, "\n") && replace+"\n" != search
	if replace == "" && first != last || !first && !last {
		return nil
	}
	return xerrors.Errorf("search begins or ends with a line end and replace does not, so two lines would become one; give it in both or in neither, or give both lines whole: %w", procmgr.ErrInvalid)
}

// head returns what stands before a place on its line.
func (t text) head(p piece) string { return t.plain[t.lines[t.line(p.from)]:p.from] }

// fits returns an error if an edit does something else at a place than its author can have
// meant.
func (t text) fits(p piece, search string) error {
	if t.cut(p, search) {
		return xerrors.Errorf("search ends where line %d is cut as it is shown, and the rest of that line would come behind replace; let replace end as search does, or use a command: %w", t.line(p.to)+1, procmgr.ErrInvalid)
	}
	head := t.head(p)
	if indentOf(head) == "" && !strings.HasPrefix(head, "- ") { // an item of a list of YAML
		return nil
	}
	first, rest, several := strings.Cut(p.with, "\n")
	_, others, _ := strings.Cut(search, "\n")
	unclear := !blank(rest) && blank(others)
	left := blank(head) && blank(first) && (several || strings.HasSuffix(search, "\n")) // the indentation, without its line
	if unclear || left {
		return xerrors.Errorf("search begins behind the indentation of line %d, and it is not clear how replace is indented; give whole lines in both, with the indentation that the file has: %w", t.line(p.from)+1, ErrAmbiguous)
	}
	return nil
}

// indentedAlike returns an error if lines of a replacement are indented in a way in which
// no other line of the text is: a line in a block is deeper than the line before it by
// other white space, or a line begins with a tab and all others with spaces, or the other
// way round.
func (t text) indentedAlike(pieces []piece) error {
	var others []string
	next := 0
	for i := range t.count() {
		for next < len(pieces) && t.line(pieces[next].to-1) < i {
			next++
		}
		if next == len(pieces) || i < t.line(pieces[next].from) {
			others = append(others, t.text(i))
		}
	}
	deeper, begin := levels(others)
	own, beginnings := levels(strings.Split(t.head(pieces[0])+pieces[0].with, "\n"))
	for _, seen := range []struct{ own, others map[string]bool }{{own, deeper}, {beginnings, begin}} {
		for how := range seen.own {
			if len(seen.others) > 0 && !seen.others[how] {
				return xerrors.Errorf("replace indents by %q, and the other lines of the file by %s; indent as the file does, or use a command: %w",
					how, quoted(seen.others), procmgr.ErrInvalid)
			}
		}
	}
	return nil
}

func quoted(all map[string]bool) string {
	var each []string
	for _, one := range slices.Sorted(maps.Keys(all)) {
		each = append(each, strconv.Quote(one))
	}
	return strings.Join(each, " or ")
}

// levels returns by what white space lines are deeper than the line before them, where that
// opens a block, and with which kinds of white space lines begin: tabs or spaces.
func levels(lines []string) (deeper, begin map[string]bool) {
	deeper, begin = make(map[string]bool), make(map[string]bool)
	last := ""
	for _, line := range lines {
		if blank(line) {
			continue
		}
		indent := indentOf(line)
		if more, ok := strings.CutPrefix(indent, indentOf(last)); ok && more != "" && opens(last) {
			deeper[more] = true
		}
		if indent != "" && (indent[0] == '\t' || len(indent) > 1) { // not the " *" of a comment
			begin[kinds[indent[0]]] = true
		}
		last = line
	}
	return deeper, begin
}

var kinds = map[byte]string{'\t': "tabs", ' ': "spaces"}

// opens reports whether a line opens a block.
func opens(line string) bool {
	line = strings.TrimSpace(line)
	return strings.ContainsAny(line[max(len(line)-1, 0):], ":{([") || strings.HasSuffix(line, "; then") || strings.HasSuffix(line, "; do")
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
	return blank(strings.TrimSuffix(shown, last(search))) && like(last(search), last(p.with)) < 0.5
}

const (
	// mostPlaces is how many places one edit may replace.
	mostPlaces = 1 << 20
	// mostAmbiguous is how many places are counted if there may be one alone.
	mostAmbiguous = 1000
	// mostNumbers is how many line numbers an error has.
	mostNumbers = 20
)

// places returns the places at which the search is: without overlaps if all are to be
// replaced, and otherwise with the overlapping ones.
func (t text) places(search, replace string, all bool) (pieces []piece, err error) {
	for i := 0; ; {
		n := strings.Index(t.plain[i:], search)
		if n < 0 || !all && len(pieces) == mostAmbiguous {
			break
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
	last, ended := strings.CutSuffix(search, "\n")
	if ended && last != "" && !strings.HasSuffix(last, "\n") && strings.HasSuffix(t.plain, last) {
		// The last line has no end, and is as good a place.
		pieces = append(pieces, piece{len(t.plain) - len(last), len(t.plain), strings.TrimSuffix(replace, "\n")})
	}
	return pieces, nil
}

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

func blank(s string) bool { return strings.Trim(s, " \t\r\n") == "" }

// indentOf returns the white space before a line.
func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }
