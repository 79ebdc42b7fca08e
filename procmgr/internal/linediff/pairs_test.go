package linediff_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/linediff"
)

// A pair is what a command printed twice, recorded by testdata/pairs/record.sh.
type pair struct {
	name          string
	want          string // what a reader of the second run looks for, or "" if nothing has changed
	before, after linediff.Output
}

func pairs(t *testing.T) (all []pair) {
	t.Helper()
	paths, err := filepath.Glob("testdata/pairs/*.txt")
	require.NoError(t, err)
	for _, path := range paths {
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		p := pair{name: strings.TrimSuffix(filepath.Base(path), ".txt")}
		head, first, _ := strings.Cut(string(data), "%run ")
		first, second, _ := strings.Cut(first, "%run ")
		p.want = strings.TrimSuffix(strings.TrimPrefix(head, "%want "), "\n")
		if head == "%noise\n" {
			p.want = ""
		}
		p.before, p.after = recordedOutput(t, first), recordedOutput(t, second)
		all = append(all, p)
	}
	return all
}

func recordedOutput(t *testing.T, run string) (out linediff.Output) {
	t.Helper()
	head, text, _ := strings.Cut(run, "\n")
	start, took, _ := strings.Cut(head, " ")
	var err error
	out.Start, err = time.Parse(time.RFC3339Nano, start)
	require.NoError(t, err)
	seconds, err := strconv.ParseFloat(took, 64)
	require.NoError(t, err)
	out.Text, out.Took = text, time.Duration(seconds*float64(time.Second))
	return out
}

// Of the changes that a reader looks for, one is hidden, and the result says that times
// differ. Nearly all that differs by itself is not shown.
func TestPairs(t *testing.T) {
	t.Parallel()
	const mostNoise = 2000
	all := pairs(t)
	require.Len(t, all, 8+11)
	var hidden []string
	noise := 0
	for _, p := range all {
		c := findAt(t, p.before, p.after)
		if p.want == "" {
			t.Logf("%-18s %5d bytes of noise, %d times", p.name, len(c.Text), c.Times)
			noise += len(c.Text)
			continue
		}
		shown := false
		for line := range strings.Lines(c.Text) {
			shown = shown || line[0] == '+' && strings.Contains(line, p.want)
		}
		t.Logf("%-18s shown: %v, %d bytes, %d times", p.name, shown, len(c.Text), c.Times)
		if !shown {
			hidden = append(hidden, p.name)
			require.NotZero(t, c.Times, "%s: it is not told that times differ", p.name)
		}
	}
	t.Logf("%d hidden, %d bytes of noise", len(hidden), noise)
	require.LessOrEqual(t, len(hidden), 1, "%q", hidden)
	require.LessOrEqual(t, noise, mostNoise)
}
