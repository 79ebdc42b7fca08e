package advice_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/procmgr"
)

// tools are as a model knows them.
var tools = advice.Tools{Execute: "execute", Signal: "process_signal", ReadFile: "view"}

// exited is the result of a foreground command that has ended.
func exited(command string, code int, output string) advice.Result {
	r := running(command, output)
	r.Output.Process.State = procmgr.Exited
	r.Output.Process.ExitCode = &code
	r.Output.Process.EndedBy = procmgr.CauseExit
	r.Output.Process.Elapsed = 1500 * time.Millisecond
	return r
}

// running is the result of a foreground command that has outlasted its timeout.
func running(command, output string) advice.Result {
	return advice.Result{
		Output: procmgr.Output{
			Process: procmgr.Process{ID: "p1", Command: command, State: procmgr.Running, Elapsed: time.Hour},
			Text:    output,
			Next:    int64(len(output)),
		},
		Command: &script.Source{Text: command},
		Tools:   tools,
	}
}

// noteOn returns the notes on a foreground command that has ended.
func noteOn(command string, code int, output string) string {
	return noteOf(exited(command, code, output))
}

func noteOf(r advice.Result) string { return strings.Join(advice.Notes(r), " ") }

// A server of Node.js in the background cuts the output of what runs beside it.
func TestCutWrite(t *testing.T) {
	t.Parallel()
	const unavailable = "base64: write error: Resource temporarily unavailable\n"
	for _, tt := range []struct {
		name, command string
		code          int
		output, want  string
	}{
		{"curl's exit code", "node srv.js & sleep 1; curl -s localhost:3000/big", 23, "xxx", "`node … >server.log 2>&1 &`"},
		{"a message", "npm start &\ncat f | base64", 1, unavailable, "npm in the background makes the pipe non-blocking"},
		{"in front", "node gen.js; curl -s localhost:3000/big", 23, "xxx", ""},
		{"another program", "python3 -m http.server & curl -s localhost:8000/big", 23, "xxx", ""},
		{"a name in a text", "echo node & cat f", 1, unavailable, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			note := noteOn(tt.command, tt.code, tt.output)
			if tt.want == "" {
				require.NotContains(t, note, "non-blocking")
				return
			}
			require.Contains(t, note, tt.want)
		})
	}
}

func TestExitCode(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, command string
		code          int
		output, want  string
	}{
		{"success", "x", 0, "", ""},
		{"failure", "x", 1, "", ""},
		{"not executable", "./x", 126, "sh: 1: ./x: Permission denied\n", "exit_code 126 usually means that what was called is a directory, or a file that could not be executed: for a script, use chmod +x, or name its interpreter first."},
		{"a directory", "/tmp", 126, "bash: line 1: /tmp: Is a directory\n", ""},
		{"a variable that nothing has set", "set -u; echo $NOPE", 127, "bash: line 1: NOPE: unbound variable\n", ""},
		{"not found", "x 2>/dev/null", 127, "", "exit_code 127 usually means that a command was not found: look at its spelling, PATH and the directory."},
		{"not found, as bash says", "./x", 127, "bash: line 1: ./x: No such file or directory\n", ""},
		{"killed", "x; y", 137, "", "exit_code 137 usually means that a program that the command ran was ended by signal 9, SIGKILL: out of memory, or a kill from outside."},
		{"terminated", "x", 143, "", "exit_code 143 usually means that a program that the command ran was ended by signal 15, SIGTERM."},
		{"a signal whose number differs by system", "x", 138, "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, noteOn(tt.command, tt.code, tt.output))
		})
	}
}

// Where the result's error says how it ended, the note does not say it again.
func TestExitCodeIsSaidOnce(t *testing.T) {
	t.Parallel()
	for _, p := range []procmgr.Process{{Signal: "SIGKILL", EndedBy: procmgr.CauseSignal}, {EndedBy: procmgr.CauseRequest}, {EndedBy: procmgr.CauseExit, OOM: true}} {
		r := exited("x", 137, "")
		p.State, p.ExitCode = r.Output.Process.State, r.Output.Process.ExitCode
		r.Output.Process = p
		require.Empty(t, advice.Notes(r), "%+v", p)
	}
}

// A cd or an export on its own changes nothing for later calls.
func TestPrepares(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]bool{
		"cd src": true, "export A=1": true, "cd /tmp && export A=$HOME; B=2": true,
		"cd src && ls": false, "export A=$(date)": false, "(cd src)": false, "pwd": false, "cd src &": false,
	} {
		require.Equal(t, want, strings.Contains(noteOn(command, 0, ""), "Each call is a new shell"), command)
		require.Empty(t, noteOn(command, 1, "cd: no such directory\n"), command)
	}
}
