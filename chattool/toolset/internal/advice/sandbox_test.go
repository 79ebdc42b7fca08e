package advice_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/procmgr"
)

func TestRules(t *testing.T) {
	for want, rules := range map[string]procmgr.SandboxRules{
		"may write below /work and in $TMPDIR only, and have no network":                 {Write: []string{"/work"}, NoNetwork: true},
		"may write in $TMPDIR only":                                                      {},
		"may write below /a and /b, and in $TMPDIR only":                                 {Write: []string{"/a", "/b"}},
		"may write below /a and in $TMPDIR only, but not to /a/x or /a/y":                {Write: []string{"/a"}, Protect: []string{"/a/x", "/a/y"}},
		"may write in $TMPDIR only, cannot read /k, and have no network":                 {Hide: []string{"/k"}, NoNetwork: true},
		`may write below "/my work" and in $TMPDIR only`:                                 {Write: []string{"/my work"}},
		"may write below /1, /2, /3, /4, /5, /6, /7, /8 and 1 more, and in $TMPDIR only": {Write: []string{"/1", "/2", "/3", "/4", "/5", "/6", "/7", "/8", "/9"}},
	} {
		require.Equal(t, want, advice.Rules(&rules))
	}
}

// A failed command gets the note only if a rule can be the reason.
func TestSandboxNote(t *testing.T) {
	rules := procmgr.SandboxRules{Write: []string{"/work"}, Protect: []string{"/work/.git/hooks"}, Hide: []string{"/root/.ssh", "/work/secret.txt"}, NoNetwork: true}
	for _, test := range []struct {
		text, workDir string
		want          string // a part of the note, "" for none
	}{
		{"touch: cannot touch '/etc/x': Permission denied", "/work", "may write below /work"},
		{"bash: line 1: /home/me/.bashrc: Permission denied", "/work", "may write below /work"},
		{"touch: cannot touch '/work/x': Permission denied", "/work", ""},
		{"cp: cannot create regular file '/work/.git/hooks/pre-commit': Read-only file system", "/work", "/work/.git/hooks"},
		{"touch: cannot touch 'x': Permission denied", "/srv", "may write below /work"},
		{"sh: 1: cannot create x: Permission denied", "/srv", "may write below /work"},
		{"touch: cannot touch 'x': Permission denied", "/work/sub", ""},
		{"mv: cannot move '/work/a' to '/srv/a': Invalid cross-device link", "/work", "may write below /work"},
		{"PermissionError: [Errno 13] Permission denied: '/srv/x'", "/work", "may write below /work"},
		{"Error: EACCES: permission denied, open '/usr/lib/node_modules/x'", "/work", "may write below /work"},
		{"cat: /root/.ssh/id: No such file or directory", "/work", "cannot read /root/.ssh"},
		{"cat: /work/none: No such file or directory", "/work", ""},
		{"cat: /etc/none: No such file or directory", "/work", ""},
		{"cat: secret.txt: Permission denied", "/work", "cannot read /root/.ssh or /work/secret.txt"},
		{"cat: ../secret.txt: No such file or directory", "/work/sub", "cannot read"},
		{"cat: secret.txt: No such file or directory", "/work/sub", ""},
		{"cat: secret.txt: Permission denied", "", ""},
		{"touch: cannot touch '../x': Permission denied", "/work", "may write below /work"},
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
		{"--- FAIL: TestX", "/work", ""},
	} {
		t.Run(test.text, func(t *testing.T) {
			one := 1
			r := advice.Result{
				Output: procmgr.Output{Text: test.text + "\n", Process: procmgr.Process{
					State: procmgr.Exited, ExitCode: &one, EndedBy: procmgr.CauseExit, WorkDir: test.workDir,
				}},
				Command: &script.Source{Text: "x"}, Failed: true, Sandbox: &rules,
			}
			notes := advice.Notes(r)
			if test.want == "" {
				require.Empty(t, notes)
			} else {
				require.Len(t, notes, 1)
				require.Contains(t, notes[0], test.want)
				require.Contains(t, notes[0], "may be the reason")
				require.Contains(t, notes[0], "another way round will not help")
			}
			r.Failed = false
			require.Empty(t, advice.Notes(r))
			r.Failed, r.Sandbox = true, nil
			require.Empty(t, advice.Notes(r))
		})
	}
}
