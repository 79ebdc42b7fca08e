//go:build linux

package toolset_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/testenv"
)

// inputPage has the transcript of a debugging session.
const (
	inputPage  = "../../docs/input.md"
	inputBegin = "<!-- made by: go test ./chattool/toolset -run InputPage -update-docs -->\n```text\n"
	inputEnd   = "```\n<!-- end of what is made -->\n"
)

// bug is the program in which the session looks for a mistake.
const bug = `def average(numbers):
    total = count = 0
    for n in numbers:
        total += n
        if n > 0:
            count += 1
    return total / count

print(average([-40, 50, 80]))
`

// What differs from run to run is the same on the page.
var sameOnThePage = []struct {
	what *regexp.Regexp
	same string
}{
	{regexp.MustCompile(`\b\d+(\.\d+)?m?s\b`), "0.2s"},
	{regexp.MustCompile(` · next_offset \d+`), ""},
	{regexp.MustCompile(`at offset \d+`), "at offset 90"},
	{regexp.MustCompile(`note: The last line looks like a question or a prompt: .*\n`), ""}, // of a process that has run for a second
}

// A model finds a mistake with a debugger, and the page shows how.
func TestInputPage(t *testing.T) {
	testenv.Programs(t, "python3")
	l := newLocal(t, &toolset.Options{
		Input: true, Format: toolset.FormatText,
		ProcessID: func(context.Context, toolset.Call) string { return "k7qv2mzp4a" },
	})
	require.NoError(t, os.WriteFile(filepath.Join(l.dir, "average.py"), []byte(bug), 0o600))
	var page strings.Builder
	say := func(tool, arguments string) {
		t.Helper()
		res := l.set.Call(t.Context(), toolset.Call{Name: tool, Arguments: json.RawMessage(arguments)})
		require.False(t, res.IsError, res.Content)
		content := strings.ReplaceAll(res.Content, l.dir, "/srv/project")
		for _, s := range sameOnThePage {
			content = s.what.ReplaceAllString(content, s.same)
		}
		page.WriteString("→ " + tool + " " + arguments + "\n" + strings.TrimSuffix(content, "\n") + "\n\n")
	}
	say("execute", `{"command":"python3 -m pdb average.py","stdin":"open","run_in_background":true}`)
	// How far it has come by then depends on the machine.
	started, _, _ := strings.Cut(page.String(), "\n")
	page.Reset()
	say("process_output", `{"process_id":"k7qv2mzp4a","wait_for":"^\\(Pdb\\) $","wait_timeout":"1m"}`)
	page.Reset()
	page.WriteString(started + "\n…\n\n")
	say("process_input", `{"process_id":"k7qv2mzp4a","text":"break 7\n","wait_for":"^\\(Pdb\\) $"}`)
	say("process_input", `{"process_id":"k7qv2mzp4a","text":"continue\n","wait_for":"^\\(Pdb\\) $"}`)
	say("process_input", `{"process_id":"k7qv2mzp4a","text":"p total, count, len(numbers)\n","wait_for":"^\\(Pdb\\) $"}`)
	say("process_input", `{"process_id":"k7qv2mzp4a","text":"quit\n","end":true}`)

	text, err := os.ReadFile(inputPage)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), inputBegin)
	require.True(t, ok, "the page has no place for the transcript")
	shown, after, ok := strings.Cut(rest, inputEnd)
	require.True(t, ok)
	made := strings.TrimSuffix(page.String(), "\n")
	if *updateDocs {
		require.NoError(t, os.WriteFile(inputPage, []byte(before+inputBegin+made+inputEnd+after), 0o644))
		return
	}
	require.Equal(t, shown, made, "go test ./chattool/toolset -run InputPage -update-docs")
}
