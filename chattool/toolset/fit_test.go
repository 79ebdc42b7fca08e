package toolset_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// envelope is what a result may have beside its output: numbers, states and a
// note.
const envelope = 1 << 10

// A printer is a manager with one process, which has printed data, and keeps so many
// bytes of it.
func printer(t testing.TB, data []byte, keep int) *fake {
	t.Helper()
	return &fake{
		start: func(_ context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
			return printed(t, data, keep, req.Limit), nil
		},
		output: func(_ context.Context, _ string, req procmgr.OutputRequest) (procmgr.Output, error) {
			return printedFrom(t, data, keep, req.From, req.Limit), nil
		},
	}
}

// printed returns the output of a process that printed data, as a manager
// returns it that keeps so many bytes and has a limit.
func printed(t testing.TB, data []byte, keep int, limit headtail.Limits) procmgr.Output {
	t.Helper()
	return printedFrom(t, data, keep, 0, limit)
}

func printedFrom(t testing.TB, data []byte, keep int, from int64, limit headtail.Limits) procmgr.Output {
	t.Helper()
	b := headtail.New(keep/2, max(keep-keep/2, utf8.UTFMax)) // the last rune is always kept
	_, _ = b.Write(data)                                     // never fails
	require.NoError(t, b.Close())
	snap := b.Snapshot(from)
	out := exited("p1", 0, "")
	out.Text, out.Truncated = snap.Text(limit)
	out.Next = snap.Total
	return out
}

var markerForm = regexp.MustCompile(`\.\.\. \[omitted (\d+) bytes\] \.\.\.`)

// fits checks what a model reads of data.
func fits(t testing.TB, data []byte, m procmgr.Manager, limit headtail.Limits) {
	t.Helper()
	res := newSet(toolset.Static(m), &toolset.Options{Limit: limit}).
		Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(`{"command":"x"}`)})
	require.LessOrEqual(t, len(res.Content), limit.Bytes+envelope)
	var got struct {
		Output    string
		Truncated *headtail.Truncation
	}
	require.NoError(t, json.Unmarshal([]byte(res.Content), &got))
	require.True(t, utf8.ValidString(res.Content))
	var encoded bytes.Buffer
	enc := json.NewEncoder(&encoded)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(got.Output))
	require.LessOrEqual(t, encoded.Len()-len("\"\"\n"), limit.Bytes)

	last, _ := utf8.DecodeLastRune(data)
	if len(data) > 0 && last != '\n' { // a folded run of lines ends with its count
		require.True(t, strings.HasSuffix(got.Output, asShown(string(last))), "the last bytes are gone: %q", got.Output[max(0, len(got.Output)-20):])
	}
	tr := got.Truncated
	if tr == nil {
		return
	}
	require.Equal(t, tr.OriginalBytes, tr.RetainedBytes+tr.OmittedBytes)
	if !bytes.Contains(data, []byte("\uFFFD")) {
		require.EqualValues(t, len(data), tr.OriginalBytes)
	}
	if bytes.Contains(data, []byte("omitted")) || bytes.Contains(data, []byte("\uFFFD")) {
		return // to this test, a marker of the program looks like one of the manager
	}
	gaps := strings.Count(got.Output, "\n\n... [omitted ")
	require.LessOrEqual(t, gaps, 1, "it was cut twice")
	sum := int64(0)
	for _, marker := range markerForm.FindAllStringSubmatch(got.Output, -1) {
		n, err := strconv.ParseInt(marker[1], 10, 64)
		require.NoError(t, err)
		sum += n
	}
	if gaps > 0 {
		require.Equal(t, tr.OmittedBytes, sum)
	}
	if tr.TruncatedLines == 0 && res.Report.Folded == 0 {
		// The text has the beginning and the end of the printed
		// data.
		begin, end, _ := strings.Cut(got.Output, "\n\n... [omitted ")
		if gaps == 0 {
			begin, end = "", got.Output
		} else {
			_, end, _ = strings.Cut(end, "] ...\n\n")
		}
		whole := asShown(string(data))
		require.True(t, strings.HasPrefix(whole, begin))
		require.True(t, strings.HasSuffix(whole, end))
	}
}

// asShown returns printed bytes as a result shows them: each invalid byte is U+FFFD, and
// each NUL U+2400.
func asShown(data string) string {
	return strings.Map(func(r rune) rune {
		if r == 0 {
			return '␀'
		}
		return r
	}, data)
}

func TestEncodedLimit(t *testing.T) {
	t.Parallel()
	const limit = headtail.DefaultTextLimit
	long := strings.Repeat("0123456789", 1000) + "\n"
	for name, data := range map[string]string{
		"NULs":                                 strings.Repeat("\x00", limit),
		"many NULs":                            strings.Repeat("\x00", 1<<20),
		"line ends":                            strings.Repeat("\n", limit),
		"quotes":                               strings.Repeat(`"`, limit-1),
		"a line of quotes and more":            strings.Repeat(`"`, limit) + strings.Repeat("plain text\n", 9000),
		"text that fits":                       strings.Repeat("plain text\n", 100),
		"text that fits but for its line ends": strings.Repeat("text "+strings.Repeat("x", 10)+"\n", limit/16),
		"text":                                 strings.Repeat("plain text\n", 9000) + "the end",
		"long lines":                           strings.Repeat(long, 20),
		"long lines of controls":               strings.Repeat("\x01"+long+strings.Repeat("\x02", 3000)+"\n", 20),
		"no UTF-8":                             strings.Repeat("\xff\x00", limit),
		"no UTF-8, just over":                  strings.Repeat("\xff", limit/3) + strings.Repeat("\x00", 10),
		"wide":                                 strings.Repeat("日本\u2028", limit/9),
		"only the beginning expands":           strings.Repeat("\x00", 20000) + strings.Repeat("plain text\n", 9000),
		"only the end expands":                 strings.Repeat("plain text\n", 9000) + strings.Repeat("\x00", 20000),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, keep := range []int{limit, 4 << 20} {
				fits(t, []byte(data), printer(t, []byte(data), keep), headtail.Limits{Bytes: limit})
			}
		})
	}
}

// Any data fits, whatever part of it the manager keeps.
func TestEncodedLimitOfAnything(t *testing.T) {
	t.Parallel()
	pieces := []string{"\x00", "a", "\n", "\"", "日", "\xff", "\u2028", "word ", "0123456789012345678901234567890123456789", "\n\n", "... ", "[", "\r"}
	for i := range 1500 {
		r := rand.New(rand.NewPCG(uint64(i), 7))
		some := pieces[r.IntN(len(pieces)):] // some are more frequent
		var b bytes.Buffer
		for range 1 + r.IntN(300) {
			if r.IntN(3) == 0 {
				b.WriteString(some[r.IntN(len(some))])
			} else {
				b.WriteString(pieces[r.IntN(len(pieces))])
			}
		}
		size := 8 + r.IntN(1500)
		keep := 1 << 20
		if r.IntN(2) == 0 {
			keep = r.IntN(3000)
		}
		fits(t, b.Bytes(), printer(t, b.Bytes(), keep), headtail.Limits{Bytes: size, Line: 64 * r.IntN(3)})
	}
}

// If a manager ignores the limit, the model still does not read all of the
// output.
func TestEncodedLimitOfACarelessManager(t *testing.T) {
	t.Parallel()
	for _, data := range []string{strings.Repeat("\x00", 1<<20), strings.Repeat("line\n", 1<<18) + "the end"} {
		out := printed(t, []byte(data), 4<<20, headtail.Limits{Bytes: -1, Line: -1})
		fits(t, []byte(data), &fake{start: answerStart(out), output: answerOutput(out)}, headtail.Limits{Bytes: 1 << 10})
	}
}

// A binary whose end matters, and a text whose middle is gone already, are cut
// at the one place.
func TestOneCut(t *testing.T) {
	t.Parallel()
	data := strings.Repeat("begin \x00\x01\x02\n\n", 3000) + strings.Repeat("\nend of it\n", 3000)
	_, got := call(t, printer(t, []byte(data), 1<<20), nil, "execute", `{"command":"x"}`)
	text := got["output"].(string)
	require.Equal(t, 1, strings.Count(text, "[omitted "))
	require.Regexp(t, `^begin ␀\x01\x02\n`, text)
	require.True(t, strings.HasSuffix(text, "\nend of it\n"))
	told := got["truncated"].(map[string]any)
	require.EqualValues(t, len(data), told["original_bytes"])
	require.Contains(t, text, "[omitted "+strconv.Itoa(int(told["omitted_bytes"].(float64)))+" bytes]")
}

func TestFoldedResult(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("not yet\n", 1000)
	out := running("p1", text)
	out.Next = 4321
	out.Truncated = &headtail.Truncation{OriginalBytes: 8001, RetainedBytes: 8000, OmittedBytes: 1, Strategy: "head_tail"}
	for tool, arguments := range map[string]string{"execute": `{"command":"x"}`, "process_output": `{"process_id":"p1"}`} {
		m := &fake{start: answerStart(out), output: answerOutput(out)}
		res, got := call(t, m, fixed(), tool, arguments)
		require.Equal(t, "not yet\n... [the line above 999 times more] ...\n", got["output"])
		require.EqualValues(t, 4321, got["next_offset"])
		require.EqualValues(t, 8000, got["truncated"].(map[string]any)["retained_bytes"])
		require.Equal(t, text, res.Output.Text, "a user interface gets what was printed")
	}
}
