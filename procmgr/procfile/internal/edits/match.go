package edits

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/internal/linematch"
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

// An Edit replaces text. Its fields are those of Edit in package procfile.
type Edit struct {
	Search, Replace string
	All             bool
}

// An Outcome is a text after an edit.
type Outcome struct {
	Text   string
	Places int
	Loose  bool // not as it is, but by its lines
}

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
	pieces, err := t.exact(search, replace, e.All)
	if err != nil {
		return Outcome{}, err
	}
	if len(pieces) > 0 {
		return t.finish(e, pieces, false)
	}
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
			in := &indents{model: b, file: t, from: -1}
			for _, at := range b.places(keys, way.same) {
				pieces = append(pieces, b.piece(t, at, func(j int) string {
					if way.indent {
						return in.line(at, j)
					}
					return b.replace[j]
				}))
			}
			if len(pieces) > 0 {
				return t.finish(e, pieces, true)
			}
		}
	}
	return Outcome{}, xerrors.Errorf("%s: %w", t.differs(search, mask), ErrNoPlace)
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
	return Outcome{t.replace(apart), len(apart), loose}, nil
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

// exact returns the places at which the search is as it is: those to replace if all
// are to be, and otherwise all of them, also those that overlap.
func (t text) exact(search, replace string, all bool) (pieces []piece, err error) {
	for i := 0; ; {
		n := strings.Index(t.plain[i:], search)
		if n < 0 || !all && len(pieces) == mostAmbiguous {
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
	b := &block{search: linesOf(search), replace: linesOf(replace)}
	b.nothing = replace == "" && strings.HasSuffix(search, "\n")
	b.stays = stays(b.search, b.replace)
	return b
}

// stays returns for each line of replace the line of search that it is, or -1.
func stays(search, replace []string) []int {
	is := make([]int, len(replace))
	for i := range is {
		is[i] = -1
	}
	for _, pair := range linematch.Pairs(search, replace) {
		is[pair[1]] = int(pair[0])
	}
	return is
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
		if len(c.replace) > 1 && blank(c.replace[0]) {
			c.replace = c.replace[1:]
		}
	}
	for len(c.search) > 0 && blank(c.search[len(c.search)-1]) {
		c.search = c.search[:len(c.search)-1]
		if n := len(c.replace); n > 1 && blank(c.replace[n-1]) {
			c.replace = c.replace[:n-1]
		}
	}
	if len(c.search) == 0 || len(c.search) == len(b.search) {
		return nil
	}
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
