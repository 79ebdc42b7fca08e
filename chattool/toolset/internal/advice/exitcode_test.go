package advice_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
)

func TestExitCode(t *testing.T) {
	t.Parallel()
	const timedOut = "exit_code 124 means that timeout ended the command. Leave timeout out: the timeout of execute ends nothing, and process_output waits on."
	for _, tt := range []struct {
		name, command string
		code          int
		output, want  string
	}{
		{"success", "x", 0, "", ""},
		{"failure", "x", 1, "", ""},
		{"128", "x", 128, "", ""},
		{"255", "x", 255, "", ""},
		{"not executable", "./x", 126, "sh: 1: ./x: Permission denied\n", "exit_code 126 usually means that a file was found and could not be executed: use chmod +x, or name its interpreter first."},
		{"not found", "x 2>/dev/null", 127, "", "exit_code 127 usually means that a command was not found: look at its spelling, PATH and the directory."},
		{"not found, as dash says", "x", 127, "sh: 1: x: not found\n", ""},
		{"not found, as bash says", "./x", 127, "bash: line 1: ./x: No such file or directory\n", ""},
		{"killed", "x; y", 137, "", "exit_code 137 usually means that a program that the command ran was ended by signal 9, SIGKILL: out of memory, or a kill from outside."},
		{"crashed", "x", 139, "", "exit_code 139 usually means that a program that the command ran was ended by signal 11, SIGSEGV: it crashed."},
		{"aborted", "x", 134, "", "exit_code 134 usually means that a program that the command ran was ended by signal 6, SIGABRT: it gave up by itself."},
		{"terminated", "x", 143, "", "exit_code 143 usually means that a program that the command ran was ended by signal 15, SIGTERM."},
		{"a signal whose number differs by system", "x", 138, "", ""},
		{"timeout", "timeout 5 x", 124, "", timedOut},
		{"timeout after cd", "cd /; FOO=1 /usr/bin/timeout -k 1 5 x y", 124, "", timedOut},
		{"timeout in a chain", "cd / && timeout 5 x", 124, "", timedOut},
		{"124 of something else", "x", 124, "", ""},
		{"124 with timeout before", "timeout 5 x; y", 124, "", ""},
		{"124 with timeout as a word", "x timeout", 124, "", ""},
		{"124 with timeout in quotes", "x 'a; timeout 5 b'", 124, "", ""},
		{"124 with timeout in a comment", "x # timeout", 124, "", ""},
		{"timeout that has not timed out", "timeout 5 x", 1, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, noteOn(tt.command, tt.code, tt.output))
		})
	}
}

// Where the result's error says how it ended, the note does not say it again.
func TestExitCodeIsSaidOnce(t *testing.T) {
	t.Parallel()
	for name, set := range map[string]func(*procmgr.Process){
		"signal":        func(p *procmgr.Process) { p.Signal, p.EndedBy = "SIGKILL", procmgr.CauseSignal },
		"request":       func(p *procmgr.Process) { p.EndedBy = procmgr.CauseRequest },
		"shutdown":      func(p *procmgr.Process) { p.EndedBy = procmgr.CauseShutdown },
		"out of memory": func(p *procmgr.Process) { p.OOM = true },
	} {
		t.Run(name, func(t *testing.T) {
			r := exited("x", 137, "")
			set(&r.Output.Process)
			require.Empty(t, advice.Notes(r))
		})
	}
}

// The exit codes are those of real shells.
func TestExitCodeAgainstShells(t *testing.T) {
	t.Parallel()
	for _, shell := range []string{"dash", "bash"} {
		t.Run(shell, func(t *testing.T) {
			testenv.Programs(t, shell, "sh", "timeout", "sleep")
			// If PATH has a directory that the user cannot enter, dash says of what
			// is not there: "Permission denied".
			var dirs []string
			for _, name := range []string{"sh", "timeout", "sleep"} {
				path, err := exec.LookPath(name)
				require.NoError(t, err)
				dirs = append(dirs, filepath.Dir(path))
			}
			path := "PATH=" + strings.Join(dirs, string(os.PathListSeparator))
			for _, tt := range []struct{ script, want string }{
				{"no-such-program", ""},
				{"no-such-program 2>/dev/null", "exit_code 127 usually"},
				{"./no-such-program", ""},
				{"/", "exit_code 126 usually"},
				{"sh -c 'kill -9 $$'; exit $?", "ended by signal 9, SIGKILL"},
				{"sh -c 'kill -15 $$'; exit $?", "ended by signal 15, SIGTERM"},
				{"timeout 0.01 sleep 10", "exit_code 124 means that timeout"},
				{"timeout -s KILL 0.01 sleep 10; exit $?", "ended by signal 9, SIGKILL"},
			} {
				cmd := exec.Command(shell, "-c", tt.script)
				cmd.Env = append(os.Environ(), path)
				out, _ := cmd.CombinedOutput()
				note := noteOn(tt.script, cmd.ProcessState.ExitCode(), string(out))
				require.True(t, strings.Contains(note, tt.want) && (tt.want == "") == (note == ""), "%s: %s: %q, %s", shell, tt.script, note, out)
			}
		})
	}
}
