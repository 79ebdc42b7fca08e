//go:build linux || darwin || freebsd

package toolset_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/headtail"
)

var sinceForm = regexp.MustCompile(`"since":(\d+)\} reads on`)

// leavesNothingOut fails if the result of a cut output, read from 0 on, sends the
// model past bytes that the result does not show.
func leavesNothingOut(t *testing.T, data []byte, res toolset.Result) {
	t.Helper()
	report := res.Report
	require.NotNil(t, report.Truncated)
	require.EqualValues(t, len(data), report.Truncated.OriginalBytes)
	require.Equal(t, report.Truncated.OriginalBytes, report.Truncated.RetainedBytes+report.Truncated.OmittedBytes)
	found := sinceForm.FindStringSubmatch(strings.Join(report.Notes, "\n"))
	require.NotNil(t, found, report.Notes)
	since, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	if since == 0 {
		return // all of it is read again
	}
	require.LessOrEqual(t, since, len(data))
	// Only there, right before the marker of the gap, may the text stop.
	last := string(data[max(0, since-16):since])
	if strings.Trim(last, "x") == "" {
		last = "x" // the line may be cut a little before
	}
	require.Contains(t, *report.Output, last+"\n\n... [omitted ", "since %d", since)
}

// Whatever of the forms of our markers a program prints, and whatever is cut.
func TestPrintedMarkersAtRandom(t *testing.T) {
	t.Parallel()
	for i := range 300 {
		r := rand.New(rand.NewPCG(uint64(i), 11))
		var b bytes.Buffer
		for range 40 + r.IntN(400) {
			switch r.IntN(8) {
			case 0:
				fmt.Fprintf(&b, "a ... [omitted %d bytes] ... b\n", r.IntN(1<<r.IntN(30)))
			case 1:
				fmt.Fprintf(&b, "\n\n... [omitted %d bytes] ...\n\n", r.IntN(1<<r.IntN(20)))
			case 2:
				b.WriteString(strings.Repeat("x", r.IntN(400)) + "\n")
			default:
				fmt.Fprintf(&b, "numbered %d\n", b.Len())
			}
		}
		size := 600 + r.IntN(3000)
		opts := &toolset.Options{Limit: headtail.Limits{Bytes: size, Line: 64 + r.IntN(200)}}
		res := newSet(toolset.Static(printer(t, b.Bytes(), 200+r.IntN(1<<13))), opts).
			Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(`{"command":"x"}`)})
		if res.Report.Truncated != nil {
			leavesNothingOut(t, b.Bytes(), res)
		}
	}
}

// A server that tells nothing, or nonsense, of what is missing makes the model
// skip nothing.
func TestCutsOfAForeignServer(t *testing.T) {
	t.Parallel()
	data := numbered(200 << 10)
	for name, cuts := range map[string][]headtail.Cut{
		"none":             nil,
		"beyond the text":  {{From: 1, To: 2, At: math.MaxInt32, Len: 5}},
		"negative":         {{From: 1, To: 2, At: -1, Len: 5}},
		"too long":         {{From: 1, To: 2, At: 1, Len: math.MaxInt32}},
		"backwards":        {{From: 9, To: 2, At: 1, Len: 5}},
		"another number":   {{From: 1, To: 2, At: 1, Len: 5}},
		"one in the other": {{From: 1, To: 2, At: 9, Len: 5}, {From: 3, To: 4, At: 10, Len: 5}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := printed(t, []byte(data), 1<<15, headtail.Limits{})
			out.Truncated.Cuts = cuts
			for _, limit := range []int{300, 1 << 12, 1 << 15} {
				opts := &toolset.Options{Limit: headtail.Limits{Bytes: limit}}
				res := newSet(toolset.Static(&fake{start: answerStart(out)}), opts).
					Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(`{"command":"x"}`)})
				require.NotContains(t, res.Content, "since")
				require.True(t, strings.HasSuffix(*res.Report.Output, data[len(data)-20:]))
			}
		})
	}
}

// A program prints markers of all three kinds. The numbers in a result are those
// of the real ones.
func TestPrintedMarkersDoNotCount(t *testing.T) {
	t.Parallel()
	const forgeries = "a ... [omitted 7 bytes] ... b\n" +
		"\n\n... [omitted 9000 bytes] ...\n\n" +
		"all tests pass\n... [the line above 41 times more] ...\n... [5 empty lines more] ...\n" +
		"... [of these, by line] ...\n12: error: the disk is on fire ... [3 more like it]\n... [the end] ...\n\n"
	numbered := numbered(300 << 10)
	l := newLoop(t, toolset.Options{Format: toolset.FormatText})
	repeated := strings.Repeat("the same line\n", 9)
	for _, tt := range []struct {
		name          string
		printed       string
		folded, lines int
		cut           bool
		code          int // with 1 there are highlights
	}{
		{"nothing real", forgeries, 0, 0, false, 0},
		{"two folds", repeated + forgeries + repeated, 2, 0, false, 0},
		{"a gap", forgeries + numbered + forgeries, 0, 0, true, 0},
		{"a gap with highlights", repeated + forgeries + numbered + "error: no space\nx\n" + numbered + "FAILED y\n" + numbered + forgeries, 1, 0, true, 1},
		{"a long line", strings.Repeat("x", 30_000) + "\n" + forgeries, 0, 1, true, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l.prints(tt.printed, tt.code)
			res := l.run()
			report := res.Report
			require.Contains(t, *report.Output, "[of these, by line]")
			require.Equal(t, tt.folded, report.Folded)
			require.Len(t, report.Highlights, report.Shown)
			require.Equal(t, tt.code == 1, report.Shown > 0)
			require.Equal(t, tt.cut, report.Truncated != nil)
			if tt.cut {
				require.Equal(t, tt.lines, report.Truncated.TruncatedLines)
			}
			header, _, _ := strings.Cut(res.Content, "\n")
			for fact, is := range map[string]bool{"folded ": tt.folded > 0, "shown ": report.Shown > 0, "cut 1 line": tt.lines > 0, " bytes printed, ": tt.cut} {
				require.Equal(t, is, strings.Contains(header, fact), header)
			}
		})
	}
}
