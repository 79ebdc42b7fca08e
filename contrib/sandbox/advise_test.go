package sandbox_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/sandbox"
	"github.com/toolproc/toolproc/procmgr"
)

// A failed command gets the note only if a rule can be the reason. TestBoundarySocketTools
// has more that fails for want of a socket.
func TestAdvise(t *testing.T) {
	rules := procmgr.SandboxRules{Write: []string{"/work"}, Protect: []string{"/work/.git/hooks"}, Hide: []string{"/root/.ssh", "/work/secret.txt"}, NoNetwork: true, NoUnixSockets: true}
	for _, test := range []struct {
		text, workDir string
		want          string // a part of the note, "" for none
	}{
		{"touch: cannot touch '/etc/x': Permission denied", "/work", "may write below /work and in $TMPDIR only"},
		{"bash: line 1: /home/me/.bashrc: Permission denied", "/work", "may write below /work and in $TMPDIR only"},
		{"touch: cannot touch '/work/x': Permission denied", "/work", ""},
		{"cp: cannot create regular file '/work/.git/hooks/pre-commit': Read-only file system", "/work", "/work/.git/hooks"},
		{"touch: cannot touch 'x': Permission denied", "/srv", "may write below /work and in $TMPDIR only"},
		{"sh: 1: cannot create x: Permission denied", "/srv", "may write below /work and in $TMPDIR only"},
		{"touch: cannot touch 'x': Permission denied", "/work/sub", ""},
		{"mv: cannot move '/work/a' to '/srv/a': Invalid cross-device link", "/work", "may write below /work and in $TMPDIR only"},
		{"PermissionError: [Errno 13] Permission denied: '/srv/x'", "/work", "may write below /work and in $TMPDIR only"},
		{"Error: EACCES: permission denied, open '/usr/lib/node_modules/x'", "/work", "may write below /work and in $TMPDIR only"},
		{"cat: /root/.ssh/id: No such file or directory", "/work", "cannot read /root/.ssh"},
		{"cat: /work/none: No such file or directory", "/work", ""},
		{"cat: /etc/none: No such file or directory", "/work", ""},
		{"cat: secret.txt: Permission denied", "/work", "cannot read /work/secret.txt"},
		{"cat: ../secret.txt: No such file or directory", "/work/sub", "cannot read"},
		{"cat: secret.txt: No such file or directory", "/work/sub", ""},
		{"cat: secret.txt: Permission denied", "", ""},
		{"touch: cannot touch '../x': Permission denied", "/work", "may write below /work and in $TMPDIR only"},
		{"touch: cannot touch '../x': Permission denied", "/work/sub", ""},
		{"sh: 1: cannot create .git/hooks/x: Read-only file system", "/work", "/work/.git/hooks"},
		{"git@github.com: Permission denied (publickey).", "/srv", ""},
		{"Permission denied, please try again.", "/srv", ""},
		{"kill: (1) - Operation not permitted", "/work", ""},
		{"fatal: unable to access 'https://example.com/': Could not resolve host: example.com", "/work", "have no network"},
		{"npm error code EAI_AGAIN", "/work", "have no network"},
		{"dial tcp: lookup proxy.golang.org: socket: operation not permitted", "/work", "have no network"},
		{"socket.gaierror: [Errno -3] Temporary failure in name resolution", "/work", "have no network"},
		{"curl: (7) Failed to connect to 10.1.2.3 port 80 after 0 ms: Couldn't connect to server", "/work", "have no network"},
		{"curl: (7) Failed to connect to 127.0.0.1 port 80 after 0 ms: Couldn't connect to server", "/work", ""},
		{"listen unix s: socket: address family not supported by protocol", "/work", "have no Unix sockets"},
		{"error: gpg failed to sign the data", "/work", "have no Unix sockets"},
		{"gpg: can't connect to the agent: General error", "/work", "have no Unix sockets"},
		{`psql: error: connection to server on socket "/var/run/postgresql/.s.PGSQL.5432" failed: could not create socket: Address family not supported by protocol`, "/work", "have no Unix sockets"},
		{`FATAL:  could not create lock file "/var/run/postgresql/.s.PGSQL.5432.lock": Read-only file system`, "/work", "have no Unix sockets"},
		{"--- FAIL: TestX", "/work", ""},
	} {
		t.Run(test.text, func(t *testing.T) {
			code, text := 1, test.text+"\n"
			report := toolset.Report{Output: &text, Process: &procmgr.Process{State: procmgr.Exited, ExitCode: &code, WorkDir: test.workDir}}
			notes := sandbox.Advise(rules)(report)
			if test.want == "" {
				require.Empty(t, notes)
			} else {
				require.Len(t, notes, 1)
				require.Contains(t, notes[0], test.want)
				require.Contains(t, notes[0], "may be the reason")
				require.Contains(t, notes[0], "another way round will not help")
			}
			code = 0
			require.Empty(t, sandbox.Advise(rules)(report))
			code = 1
			require.Empty(t, sandbox.Advise(procmgr.SandboxRules{Write: []string{"/"}})(report))
		})
	}
}

// At level Accidents no server can be one, and what programs say of that is told apart from
// other operations that are not permitted.
func TestAdviseNoLoopback(t *testing.T) {
	const python = "  File \"/usr/lib/python3/socket.py\", line 232, in __init__\n    _socket.socket.__init__(self, family, type, proto, fileno)\n"
	for text, want := range map[string]bool{
		python + "PermissionError: [Errno 1] Operation not permitted":                     true,
		python + "    ~~~~~^^^^^^^\nPermissionError: [Errno 1] Operation not permitted":   true,
		"urllib.error.URLError: <urlopen error [Errno 1] Operation not permitted>":        true,
		"Error: listen EPERM: operation not permitted 0.0.0.0:3000":                       true,
		"Error: connect EPERM 127.0.0.1:3000 - Local (undefined:undefined)":               true,
		"bind: Operation not permitted at -e line 1.":                                     true,
		"panic: listen tcp 127.0.0.1:8080: socket: operation not permitted":               true,
		"curl: (7) Failed to connect to localhost port 80 after 0 ms: Couldn't connect":   true,
		"Traceback:\n  os.kill(1, 9)\nPermissionError: [Errno 1] Operation not permitted": false,
		"bwrap: Can't bind mount /oldroot/ on /newroot/: Operation not permitted":         false,
		python + "ConnectionRefusedError: [Errno 111] Connection refused":                 false,
	} {
		code := 1
		report := toolset.Report{Output: &text, Process: &procmgr.Process{State: procmgr.Exited, ExitCode: &code, WorkDir: "/"}}
		notes := sandbox.Advise(procmgr.SandboxRules{Write: []string{"/"}, NoNetwork: true, NoLoopback: true})(report)
		require.Equal(t, want, len(notes) == 1 && strings.Contains(notes[0], "not even loopback"), "%s: %q", text, notes)
		require.Equal(t, want, len(notes) > 0)
	}
}
