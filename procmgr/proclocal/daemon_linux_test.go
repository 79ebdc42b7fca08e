package proclocal_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// services are daemons that leave their session, their parent or their
// environment. CHILD is a command that lives until it is killed, DIR a directory.
var services = []struct{ name, script, needs string }{
	{name: "double fork", script: "(sh -c 'CHILD & exit' &)"},
	{name: "nohup", script: "nohup CHILD &"},
	{name: "setsid", script: "setsid CHILD &", needs: "setsid"},
	{name: "env -i", script: "env -i setsid CHILD &", needs: "setsid"},
	{name: "double fork without an environment", script: "env -i setsid -f sh -c 'cd /; CHILD & exit'", needs: "setsid"},
	{name: "ssh-agent", script: "ssh-agent -a DIR/agent >DIR/env; . DIR/env; echo $SSH_AGENT_PID >DIR/pid", needs: "ssh-agent"},
	{name: "another user", script: "setsid setpriv --reuid 65534 --clear-groups env -i CHILD &", needs: "root setsid setpriv"},
	{name: "su -", script: "su - nobody -s /bin/sh -c 'setsid -f CHILD'", needs: "root setsid su"},
	{name: "a namespace of its own", script: "setsid bwrap --unshare-all --clearenv --bind / / CHILD &", needs: "bwrap setsid"},
}

// A process is detached as long as a daemon of its command lives. Kill ends the
// daemon, and so does Close.
func TestHeldDaemonsAreEnded(t *testing.T) {
	testenv.Held(t)
	for _, evidence := range []string{"marks", "a cgroup"} {
		for _, by := range []string{"Kill", "Close"} {
			for _, tt := range services {
				t.Run(fmt.Sprint(evidence, "/", by, "/", tt.name), func(t *testing.T) {
					for _, need := range strings.Fields(tt.needs) {
						if need == "root" {
							testenv.Root(t)
						} else {
							testenv.Programs(t, need)
						}
					}
					opts := &proclocal.Options{}
					if evidence == "a cgroup" {
						opts.Cgroup = testenv.Cgroup(t)
					}
					dir, err := os.MkdirTemp("/tmp", "tp") //nolint:usetesting // a socket's path is short, and others may enter
					require.NoError(t, err)
					t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
					require.NoError(t, os.Chmod(dir, 0o777))
					child := filepath.Join(dir, "child")
					require.NoError(t, os.WriteFile(child, []byte("#!/bin/sh\necho $$ >DIR/pid\nexec sleep 1000\n"), 0o600))
					script := strings.NewReplacer("CHILD", "sh "+child, "DIR", dir).Replace("exec >/dev/null 2>&1\n" + tt.script)
					text, err := os.ReadFile(child)
					require.NoError(t, err)
					require.NoError(t, os.WriteFile(child, bytes.ReplaceAll(text, []byte("DIR"), []byte(dir)), 0o600))
					require.NoError(t, os.Chmod(child, 0o755))

					l, err := proclocal.New(opts)
					require.NoError(t, err)
					closed := false
					t.Cleanup(func() {
						if !closed {
							require.NoError(t, l.Close())
						}
					})
					out, err := l.Start(t.Context(), procmgr.StartRequest{
						Command: script + "\nwhile [ ! -s " + dir + "/pid ]; do sleep 0.01; done; exit 3",
						Wait:    long,
					})
					require.NoError(t, err)
					require.Equal(t, 3, *out.Process.ExitCode)
					// A search finds what has left every group and holds no output.
					require.Eventually(t, func() bool {
						out, err = l.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{})
						return err == nil && out.Process.State == procmgr.Detached
					}, long, 10*time.Millisecond)
					pid, err := os.ReadFile(filepath.Join(dir, "pid"))
					require.NoError(t, err)
					daemon := strings.TrimSpace(string(pid))
					if tt.needs == "bwrap setsid" {
						daemon = "" // the number is one of its namespace
					}
					if by == "Kill" {
						require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
						require.Equal(t, 3, *ended(t, l, out.Process.ID).Process.ExitCode)
					} else {
						require.NoError(t, l.Close())
						closed = true
					}
					if daemon != "" {
						require.Eventually(t, func() bool { return !alive(daemon) }, long, 10*time.Millisecond)
					}
				})
			}
		}
	}
}
