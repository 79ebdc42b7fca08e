//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package proclocal_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// opened starts a command that has a stdin.
func opened(t testing.TB, m procmgr.Manager, stdin procmgr.Stdin, command string) (id string) {
	t.Helper()
	return start(t, m, procmgr.StartRequest{Command: command, Stdin: stdin}).Process.ID
}

// input writes, and must succeed.
func input(t testing.TB, m procmgr.Manager, id string, req procmgr.InputRequest) procmgr.InputOutput {
	t.Helper()
	out, err := m.Input(t.Context(), id, req)
	require.NoError(t, err)
	require.Equal(t, id, out.Process.ID)
	return out
}

func TestInputIsRefused(t *testing.T) {
	l := newLocal(t, nil)
	pipe := opened(t, l, procmgr.StdinPipe, "exec cat")
	terminal := opened(t, l, procmgr.StdinTerminal, "echo ready; exec cat")
	ready(t, l, terminal, "^ready")
	exited := opened(t, l, procmgr.StdinPipe, "true")
	ended(t, l, exited)
	tests := []struct {
		name, id string
		req      procmgr.InputRequest
		want     error
		says     string
	}{
		{"an unknown key", terminal, procmgr.InputRequest{Data: []byte("x"), Keys: []procmgr.Key{"enter", "hyper-q"}}, procmgr.ErrInvalid, "ctrl-a to ctrl-z"},
		{"too much", pipe, procmgr.InputRequest{Data: make([]byte, 64<<10+1)}, procmgr.ErrInvalid, "65536"},
		{"a bad key", pipe, procmgr.InputRequest{IdempotencyKey: "a b", Data: []byte("x")}, procmgr.ErrInvalid, "the key"},
		{"a bad pattern", pipe, procmgr.InputRequest{Data: []byte("x"), Until: "("}, procmgr.ErrInvalid, ""},
		{"a line that the terminal would cut", terminal, procmgr.InputRequest{Data: bytes.Repeat([]byte("x"), 5000)}, procmgr.ErrInvalid, "drop"},
		{"exited, to end", exited, procmgr.InputRequest{Close: true}, procmgr.ErrNotRunning, "its stdin is closed"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.req.IdempotencyKey += procmgr.NewID()
			for range 2 { // a refusal leaves the key unused
				out, err := l.Input(t.Context(), tt.id, tt.req)
				require.ErrorIs(t, err, tt.want)
				require.ErrorContains(t, err, tt.says)
				require.Zero(t, out)
			}
		})
	}
	out := input(t, l, terminal, procmgr.InputRequest{Data: []byte("after\n"), Close: true})
	require.Equal(t, "after\nafter\n", ended(t, l, terminal).Text[out.Next-int64(len(out.Text)):], "nothing else was written")
}

// The last 64 keys are remembered, also after the end of the process.
func TestInputOnce(t *testing.T) {
	l := newLocal(t, nil)
	id := opened(t, l, procmgr.StdinPipe, `n=0; while read -r x; do n=$((n+1)); echo "$n $x"; done`)
	req := procmgr.InputRequest{IdempotencyKey: "k", Data: []byte("one\n"), Until: "^1 one$", Wait: long}
	input(t, l, id, req)
	for i := range 63 {
		input(t, l, id, procmgr.InputRequest{IdempotencyKey: fmt.Sprint("other", i), Data: []byte("x\n")})
	}
	require.Contains(t, input(t, l, id, req).Text, "1 one\n")
	input(t, l, id, procmgr.InputRequest{IdempotencyKey: "last", Close: true})
	ended(t, l, id)
	input(t, l, id, procmgr.InputRequest{IdempotencyKey: "last", Close: true})
	require.Equal(t, 1, strings.Count(output(t, l, id, procmgr.OutputRequest{}).Text, "one"))
}

// A full pipe is waited for as long as the request says. What it has not taken
// can be written with another key.
func TestInputWaitsForRoom(t *testing.T) {
	l := newLocal(t, nil)
	dir := t.TempDir()
	id := opened(t, l, procmgr.StdinPipe, "echo ready; mkfifo "+dir+"/go; read x <"+dir+"/go; exec cat >"+dir+"/file")
	ready(t, l, id, "^ready$")
	data := bytes.Repeat([]byte("0123456789abcde\n"), 4<<10) // 64 KiB
	var all []byte
	var out procmgr.InputOutput
	for i := 0; ; i++ {
		key := fmt.Sprint("fill", i)
		out = input(t, l, id, procmgr.InputRequest{IdempotencyKey: key, Data: data})
		require.Equal(t, out.Written, input(t, l, id, procmgr.InputRequest{IdempotencyKey: key, Data: data}).Written)
		all = append(all, data[:out.Written]...)
		if out.Written < len(data) {
			break
		}
	}
	rest := data[out.Written:]
	done := make(chan struct{})
	go func() { // the test waits for it below
		defer close(done)
		out, err := l.Input(t.Context(), id, procmgr.InputRequest{IdempotencyKey: "rest", Data: rest, Close: true, Wait: long})
		assert.NoError(t, err)
		assert.Equal(t, len(rest), out.Written)
	}()
	// It has its turn and waits. Another one without time gives up.
	eventually(t, "the first one waits", func() bool {
		out, err := l.Input(t.Context(), id, procmgr.InputRequest{Data: []byte("!")})
		require.NoError(t, err)
		return out.Written == 0
	})
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err := l.Input(short, id, procmgr.InputRequest{Data: []byte("!"), Wait: long})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	run(t, l, "echo >"+dir+"/go")
	<-done
	ended(t, l, id)
	text, err := os.ReadFile(dir + "/file")
	require.NoError(t, err)
	require.Equal(t, string(append(all, rest...)), strings.ReplaceAll(string(text), "!", ""))
}

// A reader that ends, or is killed, in the middle of a write.
func TestInputLosesItsReader(t *testing.T) {
	l := newLocal(t, nil)
	data := make([]byte, 64<<10)
	for name, script := range map[string]string{
		"dies":       "head -c 100000 >/dev/null; kill -KILL $$",
		"closes":     "head -c 100000 >/dev/null; exec <&-; echo ready; exec sleep 600",
		"is stopped": "echo ready; exec sleep 600",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			id := opened(t, l, procmgr.StdinPipe, script)
			if name == "is stopped" {
				ready(t, l, id, "ready")
				input(t, l, id, procmgr.InputRequest{Data: data})
				go func() { _ = l.Signal(context.WithoutCancel(t.Context()), id, procmgr.Kill) }() // Close waits for the process
			}
			for {
				out, err := l.Input(t.Context(), id, procmgr.InputRequest{Data: data, Wait: long})
				if err != nil {
					require.ErrorIs(t, err, procmgr.ErrNotRunning)
					require.ErrorContains(t, err, "its stdin is closed")
					require.Less(t, out.Written, len(data))
					break
				}
				require.Equal(t, len(data), out.Written)
			}
		})
	}
}

func TestInputToWhatIsDetached(t *testing.T) {
	l := newLocal(t, nil)
	id := opened(t, l, procmgr.StdinPipe, "exec 7<&0; (read x <&7; echo got $x) & echo ready")
	require.Equal(t, procmgr.Detached, output(t, l, id, procmgr.OutputRequest{Wait: long, Until: "nothing"}).Process.State)
	got := input(t, l, id, procmgr.InputRequest{Data: []byte("it\n"), Until: "got it", Wait: long})
	require.Equal(t, "got it\n", got.Text)
}

// What is written is in no line of the log.
func TestInputIsNotLogged(t *testing.T) {
	var log safeBuffer
	l := newLocal(t, &proclocal.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))})
	id := opened(t, l, procmgr.StdinPipe, "exec cat >/dev/null")
	input(t, l, id, procmgr.InputRequest{Data: []byte("hunter2\n"), Close: true})
	ended(t, l, id)
	require.Contains(t, log.String(), "input written")
	require.Contains(t, log.String(), "bytes=8")
	require.NotContains(t, log.String(), "hunter2")
}

// A safeBuffer takes the lines of several goroutines.
type safeBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
