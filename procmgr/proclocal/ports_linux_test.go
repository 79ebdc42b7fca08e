package proclocal_test

import (
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
)

// freePort returns a port on which nothing listens.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// listens waits until a process listens on a port.
func listens(t *testing.T, m procmgr.Manager, id string, port int) []procmgr.Socket {
	t.Helper()
	out := output(t, m, id, procmgr.OutputRequest{UntilListening: port, Wait: 2 * long})
	require.NotEmpty(t, out.Listening, "%+v", out)
	return out.Listening
}

// pythonServer listens on a port without a word.
const pythonServer = `python3 -c 'import socket,time; s=socket.create_server(("127.0.0.1",%d)); time.sleep(1000)'`

func TestPorts(t *testing.T) {
	testenv.Programs(t, "python3", "node", "setsid")
	l := newLocal(t, nil)
	for _, tt := range []struct {
		name, command string // %d is the port
		want          string
	}{
		{"http.server", "exec python3 -m http.server %d", "0.0.0.0:%d"},
		{"node", `exec node -e 'require("http").createServer().listen(%d, "127.0.0.1")'`, "127.0.0.1:%d"},
		{"IPv6", `exec node -e 'require("http").createServer().listen(%d, "::1")'`, "[::1]:%d"},
		{"both", "exec python3 -m http.server --bind :: %d", "[::]:%d"},
		{"a child of a child", `sh -c "sh -c '` + strings.ReplaceAll(strings.ReplaceAll(pythonServer, `"`, `\"`), `'`, `'\''`) + `; :'; :"; :`, "127.0.0.1:%d"},
		{"one that is found by its mark alone", "setsid " + pythonServer + " >/dev/null 2>&1 & exec sleep 1000", "127.0.0.1:%d"},
		{"one that the shell left behind", pythonServer + " &", "127.0.0.1:%d"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if strings.Contains(tt.want, "[") {
				six, err := net.Listen("tcp6", "[::1]:0")
				if err != nil {
					testenv.Lacks(t, "ipv6", "%v", err)
				}
				six.Close()
			}
			port := freePort(t)
			out := start(t, l, procmgr.StartRequest{Command: fmt.Sprintf(tt.command, port), Background: true})
			id := out.Process.ID
			var all []procmgr.Socket
			for len(all) == 0 {
				out = output(t, l, id, procmgr.OutputRequest{UntilListening: port, Wait: 2 * long})
				require.NotEqual(t, procmgr.Exited, out.Process.State, out.Text)
				all = out.Listening
			}
			require.Equal(t, []procmgr.Socket{{Addr: fmt.Sprintf(tt.want, port), PID: all[0].PID}}, all)
			require.True(t, alive(strconv.Itoa(all[0].PID)))
			out = output(t, l, id, procmgr.OutputRequest{Ports: true})
			require.Equal(t, all, out.Listening)
			out = output(t, l, id, procmgr.OutputRequest{})
			require.Empty(t, out.Listening, "nobody asked")

			require.NoError(t, l.Signal(t.Context(), id, procmgr.Kill))
			out = output(t, l, id, procmgr.OutputRequest{Ports: true, UntilListening: -1, Wait: long})
			require.Empty(t, out.Listening, "it has exited")
		})
	}
}

// A sandbox's ports are told by the names that they have in there. Root enters
// its network namespace; any other user reads the sandbox's files.
func TestPortsOfAnotherNetwork(t *testing.T) {
	testenv.Programs(t, "python3", "bwrap")
	l := newLocal(t, nil)
	const sandbox = "exec bwrap --dev-bind / / --unshare-net -- "
	if out := run(t, l, sandbox+"true"); *out.Process.ExitCode != 0 {
		testenv.Lacks(t, "bwrap", "%s", out.Text)
	}
	port := freePort(t)
	here, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port)) // which is no member's
	require.NoError(t, err)
	defer here.Close()
	out := start(t, l, procmgr.StartRequest{Command: sandbox + fmt.Sprintf(pythonServer, port), Background: true})
	all := listens(t, l, out.Process.ID, port)
	require.Len(t, all, 1)
	mine, err := os.Readlink("/proc/self/ns/net")
	require.NoError(t, err)
	its, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/net", all[0].PID))
	require.NoError(t, err)
	require.NotEqual(t, mine, its)
	require.Equal(t, procmgr.Socket{Addr: "127.0.0.1:" + strconv.Itoa(port), PID: all[0].PID}, all[0])
}
