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

// A writer makes random files. Each line differs from all others.
type writer struct {
	*rand.Rand
	unit string // of indentation
	n    int    // lines so far
}

// block returns lines of one depth with what is nested in them.
func (w *writer) block(depth, most int) (lines []string) {
	for range 1 + w.IntN(most) {
		w.n++
		if depth < 3 && w.IntN(3) == 0 {
			lines = append(lines, fmt.Sprintf("%sif x%d:", strings.Repeat(w.unit, depth), w.n))
			lines = append(lines, w.block(depth+1, 3)...)
		} else {
			lines = append(lines, fmt.Sprintf("%sx%d = f(%[2]d)", strings.Repeat(w.unit, depth), w.n))
		}
	}
	return lines
}

// depth returns how deep a line is.
func (w *writer) depth(line string) int { return strings.Count(line, w.unit) }

// edit returns some lines with all that is nested in them, from one index to another, and
// what comes in their place.
func (w *writer) edit(file []string) (from, to int, with []string) {
	from = w.IntN(len(file))
	deep := w.depth(file[from])
	for to = from + 1; to < len(file) && (w.depth(file[to]) > deep || w.depth(file[to]) == deep && w.IntN(2) == 0); to++ {
	}
	for to < len(file) && w.depth(file[to]) > deep {
		to++
	}
	old := file[from:to]
	switch w.IntN(4) {
	case 0: // behind them
		with = slices.Concat(old, w.block(deep, 3))
	case 1: // around them
		w.n++
		with = []string{fmt.Sprintf("%sif x%d:", strings.Repeat(w.unit, deep), w.n)}
		for _, line := range old {
			with = append(with, w.unit+line)
		}
	case 2:
		with = w.block(deep, 4)
	}
	return from, to, with
}

// presentations are ways in which models give the lines of an edit. Each changes the
// search and the replacement alike; deep is the depth of the first line of the search.
var presentations = []struct {
	name string
	line func(w *writer, unit string, deep, i int, line string) string
}{
	{"as it is", func(_ *writer, _ string, _, _ int, line string) string { return line }},
	{"without indentation", func(w *writer, _ string, deep, _ int, line string) string {
		return strings.TrimPrefix(line, strings.Repeat(w.unit, deep))
	}},
	{"first line without indentation", func(w *writer, _ string, deep, i int, line string) string {
		if i > 0 {
			return line
		}
		return strings.TrimPrefix(line, strings.Repeat(w.unit, deep))
	}},
	{"a level less", func(w *writer, _ string, deep, _ int, line string) string {
		return strings.TrimPrefix(line, strings.Repeat(w.unit, min(deep, 1)))
	}},
	{"another unit", func(w *writer, unit string, _, _ int, line string) string {
		return strings.ReplaceAll(line, w.unit, unit)
	}},
	{"another unit, without indentation", func(w *writer, unit string, deep, _ int, line string) string {
		return strings.ReplaceAll(strings.TrimPrefix(line, strings.Repeat(w.unit, deep)), w.unit, unit)
	}},
}

// An edit as models give it comes out as it was meant, or is refused.
func TestOracle(t *testing.T) {
	t.Parallel()
	l, dir := newLocal(t)
	name := filepath.Join(dir, "f")
	right := make(map[string]int)
	const rounds = 120 // of each presentation
	for i := range rounds * len(presentations) {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		// No file is indented by two spaces: there, lines that are indented by four may be
		// lines of the file.
		units := []string{"\t", "    ", "  "}
		w := &writer{Rand: random, unit: units[random.IntN(2)]}
		file := w.block(0, 6)
		from, to, with := w.edit(file)
		unit := units[random.IntN(len(units))]
		if !slices.ContainsFunc(file, func(line string) bool { return w.depth(line) == 1 }) {
			unit = w.unit // the file does not tell
		}
		end := "\n"
		if random.IntN(4) == 0 {
			end = "\r\n"
		}
		text := func(lines ...string) string { return strings.Join(append(lines, ""), end) }
		way := presentations[i%len(presentations)]
		give := func(lines []string) string {
			var given strings.Builder
			for i, line := range lines {
				given.WriteString(way.line(w, unit, w.depth(file[from]), i, line) + "\n")
			}
			return given.String()
		}
		before, want := text(file...), text(slices.Concat(file[:from], with, file[to:])...)
		edit := procfile.Edit{Search: give(file[from:to]), Replace: give(with)}
		if len(with) > 0 && random.IntN(2) == 0 {
			edit = procfile.Edit{Search: strings.TrimSuffix(edit.Search, "\n"), Replace: strings.TrimSuffix(edit.Replace, "\n")}
		}
		require.NoError(t, os.WriteFile(name, []byte(before), 0o600))
		_, err := l.Edit(t.Context(), procfile.EditRequest{Files: []procfile.FileEdit{{Path: "f", Edits: []procfile.Edit{edit}}}})
		if err == nil {
			right[way.name]++
		} else {
			want = before
		}
		data, rerr := os.ReadFile(name)
		require.NoError(t, rerr)
		require.Equal(t, want, string(data), "%s, %d, of\n%s\n%+v", way.name, i, before, edit)
	}
	t.Log(right)
	require.Equal(t, rounds, right["as it is"])
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
