package procfile_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/filetool/procfile"
)

// A language is how the oracle's random files look.
type language struct {
	name, unit string
	leaf       []string // %d is a number that no other line has
	open       []string // lines with a body
	close      string   // the line behind a body; "" is none
}

var languages = []language{
	{"python", "    ", []string{"x%d = f(%[1]d)", "call_%d(a, b)", "return %d", "items[%d] += 1", "print('it is', %d)", "y%d()  # about"}, []string{"if ok_%d:", "for i%d in xs:", "def f_%d(self, a):", "while a%d < b:", "with open(p%d) as f:"}, ""},
	{"python2", "  ", []string{"x%d = f(%[1]d)", "assert a == %d", "return [%d]", `log("n=%d")`}, []string{"if not ok_%d:", "for i%d in xs:", "class C%d:"}, ""},
	{"yaml", "  ", []string{"key%d: value", "- item%d", `name%d: "it's"`, "port%d: 80"}, []string{"map%d:", "jobs%d:"}, ""},
	{"make", "\t", []string{"@echo %d", "cc -o out%d $<", "rm -f %d.o"}, []string{"target%d: dep", "all%d: x y"}, ""},
	{"go", "\t", []string{"x%d := f(%[1]d)", "call%d(a, b)", "return %d", "// about %d", "fmt.Println(\"n\", %d)"}, []string{"if ok%d {", "for i%d := range xs {", "func f%d(a int) {", "switch x%d {"}, "}"},
	{"js", "  ", []string{"const x%d = f(%[1]d);", "call%d(a, 'b');", "return %d;", "// about %d", ".then%d(r => r)"}, []string{"if (ok%d) {", "for (const i%d of xs) {", "function f%d(a) {", "it('does %d', () => {"}, "}"},
	{"html", "  ", []string{"<li>%d</li>", `<img src="%d">`}, []string{`<ul id="%d">`, `<div class="%d">`}, "</x>"},
}

// A node is a line with the lines of its body.
type node struct {
	text string // "" is an empty line
	body []node
	is   bool // it has a body
}

// A writer makes random files and edits.
type writer struct {
	*rand.Rand
	language
	n int
}

func (w *writer) pick(all []string) string {
	w.n++
	if s := all[w.IntN(len(all))]; strings.Contains(s, "%") {
		return fmt.Sprintf(s, w.n)
	}
	return ""
}

func (w *writer) nodes(most, deep int) (all []node) {
	for range 1 + w.IntN(most) {
		switch {
		case deep > 0 && w.IntN(3) == 0:
			all = append(all, node{w.pick(w.open), w.nodes(3, deep-1), true})
		case w.IntN(12) == 0 && len(all) > 0:
			all = append(all, node{})
		case w.IntN(15) == 0:
			all = append(all, node{text: fmt.Sprintf(w.leaf[0], 0)})
		default:
			all = append(all, node{text: w.pick(w.leaf)})
		}
	}
	if all[len(all)-1].text == "" {
		all[len(all)-1].text = w.pick(w.leaf)
	}
	return all
}

// lines returns nodes as lines.
func (w *writer) lines(all []node, depth int) (lines []string) {
	in := strings.Repeat(w.unit, depth)
	for _, n := range all {
		if n.text == "" {
			lines = append(lines, "")
			continue
		}
		lines = append(lines, in+n.text)
		if lines = append(lines, w.lines(n.body, depth+1)...); n.is && w.close != "" {
			lines = append(lines, in+w.close)
		}
	}
	return lines
}

// A trueEdit is some lines of a file, and what comes in their place.
type trueEdit struct{ before, old, new, after []string }

// edit makes a file and a true edit of it.
func (w *writer) edit() trueEdit {
	all := w.nodes(6, 3)
	var at func(all []node, depth int, before, after []string) trueEdit
	at = func(all []node, depth int, before, after []string) trueEdit {
		i := w.IntN(len(all))
		if n := all[i]; n.is && w.IntN(4) > 0 {
			in := strings.Repeat(w.unit, depth)
			before = append(append(before, w.lines(all[:i], depth)...), in+n.text)
			rest := w.lines(all[i+1:], depth)
			if w.close != "" {
				rest = append([]string{in + w.close}, rest...)
			}
			return at(n.body, depth+1, before, append(rest, after...))
		}
		j := min(i+1+w.IntN(2)*w.IntN(3), len(all))
		old := all[i:j]
		for old[0].text == "" {
			i--
			old = all[i:j]
		}
		for old[len(old)-1].text == "" {
			j++
			old = all[i:j]
		}
		var with []node
		switch w.IntN(8) {
		case 0: // insert behind
			with = append(append(with, old...), w.nodes(3, 1)...)
		case 1: // insert before
			with = append(w.nodes(3, 1), old...)
		case 2: // wrap
			with = []node{{w.pick(w.open), old, true}}
		case 3: // unwrap, or replace
			for _, n := range old {
				if n.is {
					with = append(with, n.body...)
				} else {
					with = append(with, node{text: w.pick(w.leaf)})
				}
			}
		case 4: // delete
			if len(old) == len(all) {
				with = w.nodes(1, 0)
			}
		case 5: // another first line
			with = append([]node{{w.pick(map[bool][]string{false: w.leaf, true: w.open}[old[0].is]), old[0].body, old[0].is}}, old[1:]...)
		case 6: // what was there stays in one branch
			with = append([]node{{w.pick(w.open), w.nodes(2, 0), true}}, old...)
		default:
			with = w.nodes(4, 1)
		}
		return trueEdit{
			before: append(before, w.lines(all[:i], depth)...), old: w.lines(old, depth),
			new: w.lines(with, depth), after: append(w.lines(all[j:], depth), after...),
		}
	}
	return at(all, 0, nil, nil)
}

// shows reports whether the file has lines that are one level deeper than others.
func (e trueEdit) shows(unit string) bool {
	return slices.ContainsFunc(slices.Concat(e.before, e.old, e.after), func(line string) bool { return indentOf(line) == unit })
}

// A request is how a model presents an edit, of a file as it is and shall be.
type request struct {
	file, want, search, replace string
	elsewhere                   bool // search is in the file as it is, and not at the place that is meant
}

func text(lines ...[]string) string {
	var b strings.Builder
	for _, some := range lines {
		for _, line := range some {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func blank(line string) bool { return strings.Trim(line, " \t") == "" }

func indentOf(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// each changes the lines that are not empty.
func each(lines []string, f func(i int, line string) string) []string {
	all := make([]string, len(lines))
	for i, line := range lines {
		if !blank(line) {
			all[i] = f(i, line)
		}
	}
	return all
}

// presentations are the ways in which models give edits.
var presentations = []struct {
	name string
	make func(w *writer, e trueEdit) (search, replace []string)
}{
	{"as it is", func(_ *writer, e trueEdit) ([]string, []string) { return e.old, e.new }},
	{"without indentation", func(_ *writer, e trueEdit) ([]string, []string) {
		cut := func(_ int, line string) string { return strings.TrimPrefix(line, indentOf(e.old[0])) }
		return each(e.old, cut), each(e.new, cut)
	}},
	{"first line without indentation", func(_ *writer, e trueEdit) ([]string, []string) {
		cut := func(i int, line string) string {
			if i == 0 {
				return strings.TrimPrefix(line, indentOf(e.old[0]))
			}
			return line
		}
		return each(e.old, cut), each(e.new, cut)
	}},
	{"too deep", func(w *writer, e trueEdit) ([]string, []string) {
		more := strings.Repeat(w.unit, 1+w.IntN(2))
		in := func(_ int, line string) string { return more + line }
		return each(e.old, in), each(e.new, in)
	}},
	{"a level less", func(w *writer, e trueEdit) ([]string, []string) {
		out := func(_ int, line string) string {
			if !strings.HasPrefix(e.old[0], w.unit) {
				return line
			}
			return strings.TrimPrefix(line, w.unit)
		}
		return each(e.old, out), each(e.new, out)
	}},
	{"another unit", func(w *writer, e trueEdit) ([]string, []string) {
		unit := []string{"\t", "  ", "    ", "   "}[w.IntN(4)]
		if !e.shows(w.unit) || w.name == "html" && unit != "\t" {
			unit = w.unit // the file does not tell
		}
		other := func(_ int, line string) string {
			return strings.Repeat(unit, strings.Count(indentOf(line), w.unit)) + strings.TrimLeft(line, " \t")
		}
		return each(e.old, other), each(e.new, other)
	}},
	{"another unit, without indentation", func(w *writer, e trueEdit) ([]string, []string) {
		unit := []string{"\t", "  ", "    "}[w.IntN(3)]
		if !e.shows(w.unit) || w.name == "html" && unit != "\t" {
			unit = w.unit
		}
		deep := strings.Count(indentOf(e.old[0]), w.unit)
		other := func(_ int, line string) string {
			return strings.Repeat(unit, max(strings.Count(indentOf(line), w.unit)-deep, 0)) + strings.TrimLeft(line, " \t")
		}
		return each(e.old, other), each(e.new, other)
	}},
	{"spaces at the ends", func(w *writer, e trueEdit) ([]string, []string) {
		tail := func(_ int, line string) string { return line + strings.Repeat(" ", w.IntN(3)) }
		search := each(e.old, tail)
		replace := each(e.new, func(_ int, line string) string { return line })
		return search, replace
	}},
	{"an empty line more", func(w *writer, e trueEdit) ([]string, []string) {
		a, b := []string{""}, []string(nil)
		if w.IntN(2) == 0 {
			a, b = b, a
		}
		return append(append(append([]string{}, a...), e.old...), b...), append(append(append([]string{}, a...), e.new...), b...)
	}},
	{"with the lines around", func(w *writer, e trueEdit) ([]string, []string) {
		a, b := e.before[max(len(e.before)-w.IntN(3), 0):], e.after[:min(w.IntN(3), len(e.after))]
		cut := func(_ int, line string) string { return line }
		if w.IntN(2) == 0 {
			all := append(append(append([]string{}, a...), e.old...), b...)
			common := indentOf(all[0])
			for _, line := range append(all, e.new...) {
				for !blank(line) && !strings.HasPrefix(line, common) {
					common = common[1:]
				}
			}
			cut = func(_ int, line string) string { return strings.TrimPrefix(line, common) }
		}
		join := func(mid []string) []string {
			return each(append(append(append([]string{}, a...), mid...), b...), cut)
		}
		return join(e.old), join(e.new)
	}},
	{"all indentation lost", func(_ *writer, e trueEdit) ([]string, []string) {
		cut := func(_ int, line string) string {
			if slices.ContainsFunc(e.old, func(other string) bool { return !blank(other) && indentOf(other) != indentOf(e.old[0]) }) {
				return strings.TrimLeft(line, " \t")
			}
			return line
		}
		return each(e.old, cut), each(e.new, cut)
	}},
	{"typographic quotes", func(_ *writer, e trueEdit) ([]string, []string) {
		q := func(_ int, line string) string { return strings.NewReplacer("'", "’", `"`, "”").Replace(line) }
		return each(e.old, q), e.new
	}},
	{"with line numbers", func(_ *writer, e trueEdit) ([]string, []string) {
		n := func(i int, line string) string { return fmt.Sprintf("%d\t%s", len(e.before)+i+1, line) }
		return each(e.old, n), each(e.new, n)
	}},
}

// present gives an edit in one of the ways.
func (w *writer) present(e trueEdit, way int) request {
	spaced := func(some []string) []string { // as careless editors leave it
		return each(some, func(_ int, line string) string { return line + strings.Repeat(" ", w.IntN(2)*w.IntN(4)) })
	}
	if w.IntN(6) == 0 {
		e.before, e.after = spaced(e.before), spaced(e.after)
	}
	r := request{file: text(e.before, e.old, e.after), want: text(e.before, e.new, e.after)}
	search, replace := presentations[way].make(w, e)
	r.search, r.replace = text(search), text(replace)
	if w.IntN(2) == 0 && len(e.new) > 0 {
		r.search, r.replace = strings.TrimSuffix(r.search, "\n"), strings.TrimSuffix(r.replace, "\n")
	}
	if len(e.after) == 0 && len(e.new) > 0 && w.IntN(3) == 0 {
		r.file, r.want = strings.TrimSuffix(r.file, "\n"), strings.TrimSuffix(r.want, "\n")
	}
	if at := strings.Index(r.file, r.search); at >= 0 {
		is := len(text(e.before))
		r.elsewhere = at+len(r.search) <= is || at >= is+len(text(e.old))
	}
	if !strings.Contains(r.file, "\n") {
		return r // nothing says how its lines end
	}
	switch crlf := func(s string) string { return strings.ReplaceAll(s, "\n", "\r\n") }; w.IntN(8) {
	case 0:
		r.file, r.want = crlf(r.file), crlf(r.want)
	case 1:
		r.file, r.want, r.search, r.replace = crlf(r.file), crlf(r.want), crlf(r.search), crlf(r.replace)
	case 2:
		r.search, r.replace = crlf(r.search), crlf(r.replace)
	}
	return r
}

// An outcomes counts what has become of edits.
type outcomes struct{ right, refused, wrong int }

// runOracle makes random true edits, and compares what Edit makes of them.
func runOracle(t *testing.T, seed uint64, count int) (all map[string]*outcomes, sum outcomes) {
	t.Helper()
	l, dir := newLocal(t)
	name := filepath.Join(dir, "f")
	all = make(map[string]*outcomes)
	for i, made := 0, 0; made < count; i++ {
		random := rand.New(rand.NewPCG(seed, uint64(i)))
		way := i % len(presentations)
		w := &writer{Rand: random, language: languages[random.IntN(len(languages))]}
		r := w.present(w.edit(), way)
		if r.file == r.want || r.search == r.replace || r.elsewhere {
			continue
		}
		made++
		require.NoError(t, os.WriteFile(name, []byte(r.file), 0o600))
		_, err := l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "f", Edits: []procfile.Edit{{Search: r.search, Replace: r.replace}}}}})
		data, rerr := os.ReadFile(name)
		require.NoError(t, rerr)
		o := all[presentations[way].name]
		if o == nil {
			o = &outcomes{}
			all[presentations[way].name] = o
		}
		switch {
		case err != nil:
			require.Equal(t, r.file, string(data))
			o.refused++
		case string(data) == r.want:
			o.right++
		default:
			o.wrong++
			t.Logf("%s, %s, %d, \n%s\nsearch %q\nreplace %q\n--- got\n%s\n--- want\n%s", presentations[way].name, w.name, i, r.file, r.search, r.replace, data, r.want)
		}
	}
	for _, o := range all {
		sum.right, sum.refused, sum.wrong = sum.right+o.right, sum.refused+o.refused, sum.wrong+o.wrong
	}
	return all, sum
}

// An edit as models give it comes out as it was meant, or is refused.
func TestOracle(t *testing.T) {
	t.Parallel()
	checkOracle(t, 1, 600)
}

func TestHeldOracle(t *testing.T) {
	held(t)
	checkOracle(t, 2, 5716)
}

func checkOracle(t *testing.T, seed uint64, count int) {
	t.Helper()
	all, sum := runOracle(t, seed, count)
	for name, o := range all {
		t.Logf("%-36s right %d, refused %d, wrong %d", name, o.right, o.refused, o.wrong)
	}
	t.Logf("of %d edits: right %d, refused %d, wrong %d", count, sum.right, sum.refused, sum.wrong)
	require.Zero(t, sum.wrong)
	require.Less(t, all["as it is"].refused, count/300, "as it is, some are there twice")
	require.Greater(t, sum.right, count/3)
}

// The hunks of several edits have each line that has changed and the lines around those
// that have gone, as the file has them, and little else.
func TestHunks(t *testing.T) {
	t.Parallel()
	l, dir := newLocal(t)
	for seed := range uint64(120) {
		random := rand.New(rand.NewPCG(7, seed))
		var text strings.Builder
		count := 1 + random.IntN(60)
		for i := range count {
			fmt.Fprintf(&text, "%d.\n", i)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), []byte(text.String()), 0o600))
		var edits []procfile.Edit
		for _, i := range random.Perm(count)[:random.IntN(min(count, 6))] {
			line := fmt.Sprintf("\n%d.", i)
			with := []string{"", "\nnew", "\nnew\nnew" + line, line + "\nnew", line + "new", "\nnew a\n\nnew b"}
			edits = append(edits, procfile.Edit{Search: line, Replace: with[random.IntN(len(with))]})
		}
		edits = slices.DeleteFunc(edits, func(e procfile.Edit) bool { return e.Search == "\n0." }) // has no line before it
		edits = append(edits, procfile.Edit{Search: "0.", Replace: "new 0.", All: true}, procfile.Edit{Search: "new", Replace: "newer", All: true}, procfile.Edit{Search: "newer 0.", Replace: "n 0", All: true})
		res, err := l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "f", Edits: edits}}})
		require.NoError(t, err)
		data, err := os.ReadFile(filepath.Join(dir, "f"))
		require.NoError(t, err)
		lines := strings.Split(strings.TrimSuffix(string(data), "\n"), "\n")
		shown := make(map[int]bool)
		for _, h := range res.Files[0].Hunks {
			require.False(t, shown[int(h.From)-2], "two hunks touch")
			for i, line := range h.Lines {
				require.Equal(t, lines[int(h.From)-1+i], line.Text)
				shown[int(h.From)-1+i] = true
			}
		}
		changed := 0
		for i, line := range lines {
			var n, next int
			if _, err := fmt.Sscanf(line, "%d.", &n); err != nil {
				changed++
				require.True(t, shown[i], "seed %d, line %d of %q: %+v", seed, i+1, data, res.Files[0].Hunks)
			} else if i+1 < len(lines) && !shown[i] && !shown[i+1] {
				_, err := fmt.Sscanf(lines[i+1], "%d.", &next)
				require.NoError(t, err)
				require.Equal(t, n+1, next, "seed %d: lines have gone behind line %d", seed, i+1)
			}
		}
		require.LessOrEqual(t, len(shown), changed+5*res.Files[0].Places, "seed %d", seed)
	}
}
