package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/sandbox"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// openKeeper opens a keeper with a box, which is stopped at the end of the test.
func openKeeper(t *testing.T, dir string, p sandbox.Policy) *prockeep.Host {
	t.Helper()
	k, err := prockeep.Open(t.Context(), dir, &prockeep.Options{Local: proclocal.Options{Sandbox: newBox(t, p)}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, k.Close()) })
	return k
}

// The commands of a keeper are in a box of its own, and so are the ones of a keeper that
// takes over. Another box is a conflict.
func TestKeeper(t *testing.T) {
	dir, work := filepath.Join(t.TempDir(), "keeper"), t.TempDir()
	policy := sandbox.Policy{Write: []string{work}, Network: sandbox.NoNetwork}
	k := openKeeper(t, dir, policy)
	defer func() { require.NoError(t, k.Stop(t.Context())) }()
	d, err := k.Describe(t.Context())
	require.NoError(t, err)
	require.NotNil(t, d.Sandbox)
	require.Equal(t, procmgr.SandboxRules{Write: []string{work}, NoNetwork: true, NoLoopback: true}, *d.Sandbox)

	inside := func(k *prockeep.Host) {
		temp := succeeds(t, k, `echo a >'`+work+`/a' && touch "$TMPDIR/b" && printf %s "$TMPDIR"`)
		require.DirExists(t, temp)
		require.NotZero(t, *run(t, k, `touch '`+filepath.Dir(dir)+`/x'`).Process.ExitCode)
		require.Contains(t, run(t, k, `python3 -c 'import socket; socket.socket()'`).Text, "not permitted")
	}
	inside(k)
	next, err := prockeep.Open(t.Context(), dir, &prockeep.Options{Replace: true, Local: proclocal.Options{Sandbox: newBox(t, policy)}})
	require.NoError(t, err)
	require.NoError(t, next.Close())
	inside(k)

	same := openKeeper(t, dir, policy)
	inside(same)
	_, err = prockeep.Open(t.Context(), dir, nil)
	require.ErrorIs(t, err, procmgr.ErrConflict, "who asks for no sandbox does not get one unawares")
	_, err = prockeep.Open(t.Context(), dir, &prockeep.Options{Local: proclocal.Options{Sandbox: newBox(t, sandbox.Policy{Write: []string{work}})}})
	require.ErrorIs(t, err, procmgr.ErrConflict)
}

// A keeper makes the sandbox of a chat too, in which its commands can't reach the keeper.
func TestKeeperPerChat(t *testing.T) {
	programs(t, "curl")
	dir, work, other := filepath.Join(t.TempDir(), "keeper"), t.TempDir(), t.TempDir()
	box := newBox(t, sandbox.Policy{Write: []string{work}, UnixSockets: true})
	k, err := prockeep.Open(t.Context(), dir, &prockeep.Options{Local: proclocal.Options{PerChat: func(_ context.Context, chatID string) (*proclocal.ChatOptions, error) {
		if chatID == "a" {
			return &proclocal.ChatOptions{Sandbox: box}, nil
		}
		return nil, nil
	}}})
	require.NoError(t, err)
	defer func() { require.NoError(t, k.Stop(t.Context())) }()
	own, err := filepath.Glob(filepath.Join(dir, "k-*"))
	require.NoError(t, err)
	ask := `curl -sS -w '%{http_code}' --unix-socket '` + own[0] + `' http://localhost/keeper`
	require.Equal(t, "200", run(t, k.Chat("b"), ask).Text)
	for range 2 {
		succeeds(t, k.Chat("a"), `echo a >'`+work+`/a'`)
		require.NotZero(t, *run(t, k.Chat("a"), `echo a >'`+other+`/a'`).Process.ExitCode)
		succeeds(t, k.Chat("b"), `echo b >'`+other+`/b'`)
	}
	require.Contains(t, run(t, k.Chat("a"), ask).Text, "serves no command")
	for m, want := range map[procmgr.Manager]bool{k: false, k.Chat("a"): true, k.Chat("b"): false} {
		d, err := m.Describe(t.Context())
		require.NoError(t, err)
		require.Equal(t, want, d.Sandbox != nil && slices.Equal(d.Sandbox.Write, []string{work}), "%+v", d)
		require.Equal(t, want, d.Sandbox != nil)
	}
}

// A command in the sandbox of a keeper can neither start another one by it, nor end it,
// whichever way leads to the keeper's socket.
func TestKeeperServesNoCommand(t *testing.T) {
	programs(t, "curl", "python3")
	for _, level := range []sandbox.Level{sandbox.Accidents, sandbox.Boundary} {
		t.Run(fmt.Sprint(level), func(t *testing.T) {
			if level == sandbox.Boundary {
				programs(t, "bwrap", "nsenter")
			}
			work := visibleDir(t)
			dir, ran := filepath.Join(work, "keeper"), filepath.Join(visibleDir(t), "ran")
			k := openKeeper(t, dir, sandbox.Policy{Write: []string{work}, UnixSockets: true, Level: level})
			defer func() { require.NoError(t, k.Stop(t.Context())) }()
			socket := filepath.Join(work, "s")
			own, err := filepath.Glob(filepath.Join(dir, "k-*"))
			require.NoError(t, err)
			require.Len(t, own, 1)
			require.NoError(t, os.Link(own[0], socket)) // by which Boundary shows it
			start := `curl -sS --unix-socket '` + socket + `' -H 'Content-Type: application/json' -d '{"command":"touch ` + ran + `"}' http://localhost/start`
			in := func(command string) string {
				t.Helper()
				out, err := k.Start(t.Context(), procmgr.StartRequest{Command: command, WorkDir: work, Wait: long})
				require.NoError(t, err)
				require.NotEmpty(t, out.Text, "%+v", out.Process)
				return out.Text
			}
			require.Contains(t, in(start), "serves no command")
			require.Contains(t, in(`curl -sS --unix-socket '`+socket+`' -d '{}' http://localhost/keeper`), "serves no command")
			require.Contains(t, in(`curl -sS --unix-socket '`+socket+`' http://localhost/health`), "serves no command")
			require.Contains(t, in(`setsid --wait sh -c "`+strings.ReplaceAll(start, `"`, `\"`)+`"`), "serves no command")
			require.NoFileExists(t, ran)

			outside, err := exec.CommandContext(t.Context(), "curl", "-sS", "-w", "%{http_code}", "--unix-socket", socket, "http://localhost/keeper").CombinedOutput()
			require.NoError(t, err)
			require.Equal(t, "200", string(outside), "the same from outside")

			if level == sandbox.Boundary { // the directory, which is below Write, is hidden
				for _, command := range []string{`ls '` + dir + `'`, `echo x >'` + dir + `/ids'`, `curl -sS --unix-socket '` + own[0] + `' http://localhost/health`, `mv '` + dir + `' '` + work + `/k'`} {
					out, err := k.Start(t.Context(), procmgr.StartRequest{Command: command, WorkDir: work, Wait: long})
					require.NoError(t, err)
					require.NotZero(t, *out.Process.ExitCode, command+": "+out.Text)
				}
			}
		})
	}
}
