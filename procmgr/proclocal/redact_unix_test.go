//go:build unix

package proclocal_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

// The values of the host's variables that look like secrets are masked, whichever policy
// lets them through, and words are not.
func TestRedactEnvironment(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("GITHUB_TOKEN", token)
	t.Setenv("DB_PASSWORD", "postgres")
	t.Setenv("DATABASE_URL", "postgres://ada:a1b2c3d4e5f6a7b8@db/x")
	t.Setenv("PUBLIC_THING", "zz9a8b7c6d5e4f3g2h")
	t.Setenv("THING_TOKEN", "zz9a8b7c6d5e4f3g2h")
	t.Setenv("DROPPED_TOKEN", "dropped0a1b2c3d4e5f6")
	file := filepath.Join(dir, ".env")
	require.NoError(t, os.WriteFile(file, []byte("GITHUB_TOKEN="+token+"\nDB_PASSWORD=postgres\nURL=postgres://ada:a1b2c3d4e5f6a7b8@db/x\nPGPASSWORD=a1b2c3d4e5f6a7b8\n"), 0o600))
	const want = "GITHUB_TOKEN=[withheld: GITHUB_TOKEN]\nDB_PASSWORD=postgres\nURL=[withheld: DATABASE_URL]\nPGPASSWORD=[withheld: DATABASE_URL]\n"
	for name, policy := range map[string]envpolicy.Policy{
		"by default": {Exclude: []string{"DROPPED_TOKEN"}},
		"Allow":      {Allow: []string{"GITHUB_*", "D*"}},
	} {
		t.Run(name, func(t *testing.T) {
			l := newLocal(t, &proclocal.Options{Env: policy})
			out := finish(t, l, procmgr.StartRequest{Command: "cat " + file})
			require.Equal(t, want, out.Text)
			require.Equal(t, []string{"GITHUB_TOKEN", "DATABASE_URL"}, out.Redacted)
			require.Equal(t, int64(len(want)), out.Next)
			out = finish(t, l, procmgr.StartRequest{Command: "echo zz9a8b7c6d5e4f3g2h"})
			require.Equal(t, "zz9a8b7c6d5e4f3g2h\n", out.Text, "it is the value of PUBLIC_THING too")
			require.Empty(t, out.Redacted)
			if len(policy.Exclude) > 0 {
				out = finish(t, l, procmgr.StartRequest{Command: "echo dropped0a1b2c3d4e5f6"})
				require.Equal(t, "dropped0a1b2c3d4e5f6\n", out.Text)
			}
		})
	}
}

// The variables that Set, UpdateEnv and a request add are secrets too.
func TestRedactAdded(t *testing.T) {
	value := func(i byte) string { return "k" + strings.Repeat(string('0'+i), 8) + "abcdefgh" }
	l := newLocal(t, &proclocal.Options{
		Env: envpolicy.Policy{Set: map[string]string{"SET_TOKEN": value(1)}},
		UpdateEnv: func(_ string, env []string) ([]string, error) {
			return append(env, "HOOK_TOKEN="+value(2), "HOOK=x"), nil
		},
		Redact: []proclocal.Secret{{Name: "named", Value: "four"}},
	})
	req := procmgr.StartRequest{Command: `echo "$SET_TOKEN $HOOK_TOKEN $A_TOKEN $WORD four"`, Env: map[string]string{"A_TOKEN": value(3), "WORD": "word"}}
	out := finish(t, l, req)
	require.Equal(t, "[withheld: SET_TOKEN] [withheld: HOOK_TOKEN] [withheld: A_TOKEN] word [withheld: named]\n", out.Text)
	require.ElementsMatch(t, []string{"SET_TOKEN", "HOOK_TOKEN", "A_TOKEN", "named"}, out.Redacted)
	require.Equal(t, req.Command, out.Process.Command)
	_, err := proclocal.New(&proclocal.Options{Redact: []proclocal.Secret{{Name: "A", Value: "abc"}}})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	_, err = proclocal.New(&proclocal.Options{Redact: []proclocal.Secret{{Value: "abcd"}}})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
}

// Wherever the output is read, the value is not in it: text, search, events, log.
func TestRedactEverywhere(t *testing.T) {
	logs := t.TempDir()
	l := newLocal(t, &proclocal.Options{Redact: []proclocal.Secret{{Name: "TOKEN", Value: token}}, LogDir: logs, Head: 100, Tail: 100})
	chat := l.Chat("a")
	encoded := base64.StdEncoding.EncodeToString([]byte("user:" + token))
	out := start(t, chat, procmgr.StartRequest{
		Command: "echo " + token + "; echo " + encoded + "; seq 1000; echo error: " + token + "; seq 1000; printf '%s' ghp_16C7; sleep 0.05; echo '" + token[8:] + " end'",
		Notify:  "error: .*", Wait: long,
	})
	require.Equal(t, procmgr.Exited, out.Process.State)
	out = output(t, chat, out.Process.ID, procmgr.OutputRequest{Until: "error: .*", Highlight: 2000, Limit: headtail.Limits{Bytes: 400}})
	require.Equal(t, "error: [withheld: TOKEN]", out.MatchedLine)
	require.True(t, strings.HasPrefix(out.Highlights[0].Text, "error: [withheld: TOKEN]\n"))
	require.Contains(t, out.Text, "[withheld: TOKEN]\n"+base64.StdEncoding.EncodeToString([]byte("user:"))[:6])
	require.True(t, strings.HasSuffix(out.Text, "[withheld: TOKEN] end\n"), out.Text)
	require.False(t, output(t, chat, out.Process.ID, procmgr.OutputRequest{Until: "16C7e42F"}).Matched)
	page, err := chat.Events(t.Context(), procmgr.EventsRequest{})
	require.NoError(t, err)
	lines := 0
	for _, e := range page.Events {
		if e.Line != "" {
			lines++
			require.Equal(t, "error: [withheld: TOKEN]", e.Line)
		}
	}
	require.Equal(t, 1, lines)
	text, err := os.ReadFile(out.Process.LogPath)
	require.NoError(t, err)
	require.NotContains(t, string(text), token[8:])
	require.NotContains(t, string(text), encoded[8:40])
	require.Equal(t, out.Next, int64(len(text)))
}

// A screen shows no value, though it goes on in the next row. An escape
// sequence or a redraw in its midst does not reveal it.
func TestRedactScreen(t *testing.T) {
	l := newLocal(t, &proclocal.Options{Redact: []proclocal.Secret{{Name: "TOKEN", Value: token}}})
	out := start(t, l, procmgr.StartRequest{
		Command: "printf '%s\\n' '" + strings.Repeat("x", 110) + token[:10] + "\x1b[1m" + token[10:] + " b'; printf ' 1%%\\r 2%% " + token + "\\n'; echo ready; exec sleep 600",
		Stdin:   procmgr.StdinTerminal,
	})
	id := out.Process.ID
	out = output(t, l, id, procmgr.OutputRequest{Until: "^ready$", Wait: long, Screen: true})
	require.True(t, out.Matched)
	require.Equal(t, strings.Repeat("x", 110)+"[withheld: TOKEN] b\n 1%\n 2% [withheld: TOKEN]\nready\n", out.Text)
	screen := strings.Join(out.Screen.Rows, "")
	require.NotContains(t, screen, token[4:12])
	require.NotContains(t, screen, token[30:])
	require.Equal(t, []string{strings.Repeat("x", 110) + "[withheld:", " TOKEN]" + strings.Repeat("-", 23) + " b"}, out.Screen.Rows[:2])
	require.NoError(t, l.Signal(t.Context(), id, procmgr.Kill))
	out = output(t, l, id, procmgr.OutputRequest{Wait: long, Screen: true})
	require.NotContains(t, strings.Join(out.Screen.Rows, ""), token[4:12], "the last screen")
}
