package advice_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/procmgr"
)

// ended is the result of a command whose shell a signal has ended, "" for none.
func ended(command, signal string) advice.Result {
	r := exited(command, map[string]int{"": 0, "SIGTERM": 143, "SIGKILL": 137, "SIGHUP": 129}[signal], "")
	r.Command = &script.Source{Text: command, Shell: "bash"}
	if signal != "" {
		r.Output.Process.Signal, r.Output.Process.EndedBy = signal, procmgr.CauseSignal
	}
	return r
}

const (
	pkilled = "`pkill -f server.js` has ended its own shell, because the command line of that shell has the pattern." +
		" Use process_signal to end what execute started, or pkill -f '[s]erver.js'"
	pgrepped = "`pgrep -f server.js` has found its own shell, because the command line of that shell has the pattern, and kill has ended it." +
		" Use process_signal to end what execute started, or pgrep -f '[s]erver.js'"
	pfound = "`pgrep -f server.js` also finds its own shell, since that shell's command line has the pattern: use pgrep -f '[s]erver.js'"
)

func TestSelfKill(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, command, signal, want string }{
		{"pkill", "pkill -f server.js; sleep 1", "SIGTERM", pkilled + "."},
		{"quoted", `cd /srv && pkill -f "server.js" && echo ok`, "SIGTERM", pkilled + "."},
		{"options", "pkill -ef -u root -- server.js; true", "SIGTERM", pkilled + "."},
		{"long option", "pkill --full --signal KILL server.js; true", "SIGKILL", pkilled + "."},
		{"another signal", "pkill -9 -f server.js || true; ls", "SIGKILL", pkilled + "."},
		{"by its name", "pkill -SIGHUP -f server.js; true", "SIGHUP", pkilled + "."},
		{"by sudo", "sudo -n pkill -f server.js; true", "SIGTERM", pkilled + "."},
		{"its server in the same call", "pkill -f server.js; sleep 1; node server.js &", "SIGTERM", pkilled + ", in a call of its own."},
		{"a pattern that cannot be spelled otherwise", "pkill -f '\\w+.js'; true; # x.js", "SIGTERM", "`pkill -f \\w+.js` has ended its own shell, because the command line of that shell has the pattern." +
			" Use process_signal to end what execute started, or a pattern that does not match itself, such as '[p]attern'."},
		{"a pattern that names the shell", "pkill -f 'bash -c'; true", "SIGTERM", "`pkill -f bash -c` has ended its own shell, because the command line of that shell has the pattern." +
			" Use process_signal to end what execute started."},
		{"an expression", "pkill -f 'serv.*js$|x'; sleep 1; # y.js", "SIGTERM", "`pkill -f serv.*js$|x` has ended its own shell, because the command line of that shell has the pattern." +
			" Use process_signal to end what execute started, or pkill -f '[s]erv.*js$|x', in a call of its own."},
		{"kill", "kill $(pgrep -f server.js); sleep 1", "SIGTERM", pgrepped + "."},
		{"kill -9", "kill -9 `pgrep -f server.js` 2>/dev/null; sleep 1", "SIGKILL", pgrepped + "."},
		{"xargs", "pgrep -f server.js | xargs -r kill -9; echo", "SIGKILL", pgrepped + "."},
		{"a variable", "PID=$(pgrep -f server.js); kill $PID; echo", "SIGTERM", pgrepped + "."},
		{"a loop", "for p in $(pgrep -f server.js); do kill -s KILL $p; done", "SIGKILL", pgrepped + "."},

		{"one that does not match itself", "pkill -f '[s]erver.js'; sleep 1", "SIGTERM", ""},
		{"by name", "pkill node; sleep 1", "SIGTERM", ""},
		{"exact", "pkill -xf server.js; sleep 1", "SIGTERM", ""},
		{"narrowed", "pkill -P 12 -f server.js; sleep 1", "SIGTERM", ""},
		{"ignores its ancestors", "pkill -A -f server.js; sleep 1", "SIGTERM", ""},
		{"another signal ended it", "pkill -f server.js; sleep 1", "SIGKILL", ""},
		{"it lived", "pkill -f server.js; sleep 1", "", ""},
		{"a variable as the pattern", `pkill -f "$NAME"; sleep 1`, "SIGTERM", ""},
		{"no expression", "pkill -f '('; sleep 1", "SIGTERM", ""},
		{"quoted script", "echo 'pkill -f server.js'; kill $$", "SIGTERM", ""},
		{"another kill", "pgrep -f '[s]erver.js'; kill -9 $$", "SIGKILL", ""},
		{"kill of itself", "pgrep -f server.js; kill $$", "SIGTERM", ""},
		{"only looks", "pgrep -f server.js && echo running", "", ""},
		{"looks for another user's", "pgrep -u ada -f server.js; true", "", ""},
		{"on another machine", "ssh host pgrep -f server.js; true", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := ended(tt.command, tt.signal)
			require.Equal(t, tt.want, noteOf(r))
			r.Output.Process.EndedBy = procmgr.CauseRequest
			if tt.signal != "" {
				require.Empty(t, advice.Notes(r), "a tool has ended it")
			}
		})
	}
	t.Run("told as an exit code", func(t *testing.T) {
		t.Parallel()
		r := exited("pkill -f server.js; sleep 1", 143, "")
		require.Contains(t, noteOf(r), pkilled)
	})
	t.Run("pkill outlives the shell by a moment", func(t *testing.T) {
		t.Parallel()
		r := ended("pkill -f server.js; sleep 1", "SIGTERM")
		r.Output.Process.State, r.Alive = procmgr.Detached, true
		require.Contains(t, noteOf(r), pkilled)
		r.Reading = true
		require.Empty(t, noteOf(r), "execute has said so")
	})
	t.Run("looks, and finds its shell", func(t *testing.T) {
		t.Parallel()
		for command, want := range map[string]string{
			"pgrep -f server.js && echo running":          pfound + ".",
			"pgrep -fa server.js; true":                   pfound + ".",
			"pgrep -f '[s]erver.js' && echo running":      "",
			"pgrep -u ada -f server.js && echo running":   "",
			"pgrep -f server.js && node server.js && ls":  pfound + ", in a call of its own.",
			"ssh host pgrep -f server.js && echo running": "",
		} {
			r := exited(command, 0, "41\n42 bash -c …\nrunning\n")
			r.Output.Process.PID = 42
			require.Equal(t, want, noteOf(r), command)
			r.Output.Process.PID = 2
			require.Empty(t, noteOf(r), command)
		}
	})
}
