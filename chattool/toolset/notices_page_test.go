//go:build unix

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
	"github.com/toolproc/toolproc/procmgr"
)

// The README has the transcript of a model that is told.
const (
	noticesPage  = "../../README.md"
	noticesBegin = "<!-- made by: go test ./chattool/toolset -run NoticesPage -update-docs -->\n```text\n"
	noticesEnd   = "```\n<!-- end of what is made -->\n"
)

// sameInReadme has what differs from run to run.
var sameInReadme = []struct {
	what *regexp.Regexp
	same string
}{
	{regexp.MustCompile(`after \S+;`), "after 2m;"},
	{regexp.MustCompile(`exit code 1 · \S+`), "exit code 1 · 2m"},
	{regexp.MustCompile(`(running|exit code 0) · [0-9.]+m?s`), "$1 · 0.2s"},
}

// A model starts its tests, works on, and is told that they have failed.
func TestNoticesPage(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	options := &procmgr.Options{WorkDir: func() string { return dir }}
	options.Env.KeepSecrets = true // no note on what the tests' own environment has
	manager, err := procmgr.NewLocal(options)
	require.NoError(t, err)
	defer func() { require.NoError(t, manager.Close()) }()
	chat := manager.Chat("chat")
	ids := []string{"npc5orns6a", "h2kq7vd3xe"}
	set := toolset.New(toolset.Static(chat), &toolset.Options{
		Format: toolset.FormatText,
		ProcessID: func(context.Context, toolset.Call) string {
			id := ids[0]
			ids = ids[1:]
			return id
		},
	})
	for name, content := range map[string]string{
		"test.sh": "until [ -e go ]; do sleep 0.01; done; echo 'retry.test: 12 passed'; echo '3 failing'; exit 1\n",
		"app.sh":  "# TODO: give up after some tries\nretry() { :; }\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	var page strings.Builder
	say := func(tool, arguments string) {
		res := set.Call(t.Context(), toolset.Call{Name: tool, Arguments: json.RawMessage(arguments)})
		require.False(t, res.IsError, res.Content)
		content := strings.ReplaceAll(res.Content, "\nworkdir: "+dir, "")
		for _, s := range sameInReadme {
			content = s.what.ReplaceAllString(content, s.same)
		}
		page.WriteString("→ " + tool + " " + arguments + "\n" + strings.TrimSuffix(content, "\n") + "\n\n")
	}
	say("execute", `{"command":"sh test.sh","run_in_background":true}`)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go"), nil, 0o600))
	_, err = chat.Output(t.Context(), "npc5orns6a", procmgr.OutputRequest{Wait: patience})
	require.NoError(t, err)
	say("execute", `{"command":"grep -n TODO app.sh"}`)
	say("process_output", `{"process_id":"npc5orns6a"}`)

	text, err := os.ReadFile(noticesPage)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(text), noticesBegin)
	require.True(t, ok, "the page has no place for the transcript")
	shown, after, ok := strings.Cut(rest, noticesEnd)
	require.True(t, ok)
	made := strings.TrimSuffix(page.String(), "\n")
	if *updateDocs {
		require.NoError(t, os.WriteFile(noticesPage, []byte(before+noticesBegin+made+noticesEnd+after), 0o644))
		return
	}
	require.Equal(t, shown, made, "go test ./chattool/toolset -run NoticesPage -update-docs")
}
