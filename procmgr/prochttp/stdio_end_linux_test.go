package prochttp_test

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// Close closes the command's stdin, which is enough for most.
func TestCommandEnds(t *testing.T) {
	isEnded(t, "echo ready; cat >/dev/null; echo stdin >> $0", "stdin\n", 0)
}

// If that is not enough, Close sends TERM, and then KILL to the whole group. It
// waits in any case.
func TestHeldCommandIsEnded(t *testing.T) {
	testenv.Held(t)
	t.Parallel()
	for _, tt := range []struct {
		name, script, want string
		after              time.Duration
	}{
		{"by TERM", "trap 'echo term >> $0; exit' TERM; echo ready; while :; do sleep 0.05; done", "term\n", 2 * time.Second},
		{"by KILL", "trap 'echo term >> $0' TERM; echo ready; while :; do sleep 0.05; done", "term\n", 4 * time.Second},
		{"with its group", "trap '' TERM; (echo ready; while :; do sleep 0.05; done) & exit", "", 0},
		{"with one that holds no pipe", "(trap '' TERM; exec sleep 99) >/dev/null 2>&1 & echo ready; exec cat >/dev/null", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			isEnded(t, tt.script, tt.want, tt.after)
		})
	}
}

// isEnded runs a script as the command of a connection and closes that. $0 is a
// file, and want is what the script writes to it.
func isEnded(t *testing.T, script, want string, after time.Duration) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "said")
	conn, err := prochttp.Command("sh", "-c", script, file)(t.Context())
	require.NoError(t, err)
	_, err = io.ReadFull(conn, make([]byte, len("ready\n")))
	require.NoError(t, err)
	began := time.Now()
	require.NoError(t, conn.Close())
	require.GreaterOrEqual(t, time.Since(began), after)
	text, err := os.ReadFile(file)
	if want == "" {
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	require.Equal(t, want, string(text))
	// What is left of the group got its SIGKILL, and needs a processor to die of it.
	require.Eventually(t, func() bool { return len(liveInGroup(prochttp.CommandPID(conn))) == 0 }, 10*time.Second, time.Millisecond)
	require.NoError(t, conn.Close(), "once more")
}

// silences are the bytes of clients that never begin to speak HTTP/2.
var silences = map[string]string{
	"no byte":               "",
	"one byte":              "P",
	"a part of the preface": "PRI * HTTP/2.0\r\n\r\nSM",
	"HTTP/1.1":              "GET / HT",
}

// A far side gives up a client that does not begin to speak HTTP/2.
func TestSilentClient(t *testing.T) {
	for name, said := range silences {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in, client := io.Pipe()
			served := make(chan error, 1)
			go func() { // waited for below
				served <- prochttp.ServeBytes(t.Context(), http.NotFoundHandler(), in, io.Discard, 50*time.Millisecond)
			}()
			defer func() { require.NoError(t, client.Close()) }()
			_, err := io.WriteString(client, said)
			require.NoError(t, err)
			select {
			case err := <-served:
				require.NoError(t, err)
			case <-time.After(long):
				t.Fatal("it stays")
			}
		})
	}
}
