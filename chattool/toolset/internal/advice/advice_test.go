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
var tools = advice.Tools{Execute: "execute", Output: "process_output", Signal: "process_signal", ReadFile: "view"}

// exited is the result of a foreground command that has ended.
func exited(command string, code int, output string) advice.Result {
	r := running(command, output)
	r.Output.Process.State = procmgr.Exited
	r.Output.Process.ExitCode = &code
	r.Output.Process.EndedBy = procmgr.CauseExit
	r.Alive, r.Failed = false, code != 0
	r.Ran = 1500 * time.Millisecond
	return r
}

// running is the result of a foreground command that has outlasted its timeout.
func running(command, output string) advice.Result {
	return advice.Result{
		Output: procmgr.Output{
			Process: procmgr.Process{ID: "p1", Command: command, State: procmgr.Running},
			Text:    output,
			Next:    int64(len(output)),
		},
		Command: &script.Source{Text: command},
		Alive:   true,
		Ran:     time.Hour,
		Tools:   tools,
	}
}

// noteOn returns the notes on a foreground command that has ended.
func noteOn(command string, code int, output string) string {
	return noteOf(exited(command, code, output))
}

func noteOf(r advice.Result) string { return strings.Join(advice.Notes(r), " ") }

func TestWithheld(t *testing.T) {
	t.Parallel()
	const one = "GH_TOKEN is set on the host, but its environment policy keeps it from commands, as it does with secrets; if the command needs it, the user can allow it."
	for _, tt := range []struct {
		name     string
		code     int
		output   string
		withheld []string
		want     string
		reading  string // what is said of it later
	}{
		{name: "none", code: 1},
		{name: "failed", code: 1, withheld: []string{"GH_TOKEN"}, want: one, reading: one},
		{name: "an echo of it", output: "\n", withheld: []string{"GH_TOKEN"}, want: one},
		{name: "two", code: 1, withheld: []string{"A_KEY", "B_KEY"}, want: "A_KEY, B_KEY are set on the host", reading: "keeps them from"},
		{name: "many", code: 1, withheld: strings.Fields("A B C D E F G"), want: "A, B, C, D, E and 2 more are set", reading: "and 2 more"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := exited("x", tt.code, tt.output)
			r.Output.Withheld = tt.withheld
			for reading, want := range map[bool]string{false: tt.want, true: tt.reading} {
				r.Reading = reading
				note := noteOf(r)
				require.Contains(t, note, want)
				require.Equal(t, want == "", note == "")
			}
		})
	}
}
