// Package advice writes notes on the result of a command, so that a model
// neither misreads the result nor makes a needless call.
package advice

import (
	"fmt"
	"strings"
	"time"

	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// maxNotes is how many notes on its command a result has. A model would
	// not read more.
	maxNotes = 2
	// maxAdvised is the longest command that is parsed for a note, in bytes.
	maxAdvised = 16 << 10
	// maxNames is how many withheld variables are named.
	maxNames = 5
)

// A Result is the result of a command.
type Result struct {
	Output  procmgr.Output
	Command *script.Source
	// Alive reports that some part of the process lives or may live. Failed
	// reports that the process is known to have failed.
	Alive, Failed bool
	// Ran is how long the process has run, or 0.
	Ran time.Duration
	// Background is set if no call waits for the command. Reading is set
	// for process_output: the result of execute has already had the notes
	// that are true at once.
	Background, Reading bool
	Tools               Tools
}

// Tools are the names by which the model knows the tools.
type Tools struct {
	Execute, Output, Signal string
	// Input is the tool that writes to a stdin, or "" if there is none.
	Input string
	// ReadFile is the tool that reads files, or "" if there is none.
	ReadFile string
}

// Notes returns the notes on a result, at most two, the most important ones
// first.
func Notes(r Result) []string {
	var notes []string
	for _, note := range []func() string{r.stopped, r.bashism, r.withheld, r.selfKill, r.prompt, r.editor, r.unedited, r.pipeline, r.exitCode, r.waiting, r.dump} {
		if words := note(); words != "" {
			notes = append(notes, words)
		}
		if len(notes) == maxNotes {
			break
		}
	}
	return notes
}

// withheld names the variables that the command mentions and did not get. An
// echo of such a variable prints an empty line, as if the variable were not
// set.
func (r Result) withheld() string {
	names := r.Output.Withheld
	if len(names) == 0 || r.Reading && !r.Failed {
		return ""
	}
	named := make([]string, min(len(names), maxNames))
	for i := range named {
		named[i] = Odd(names[i])
	}
	list, verb, it := strings.Join(named, ", "), "is", "it"
	if len(names) > 1 {
		verb, it = "are", "them"
	}
	if more := len(names) - maxNames; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s %s set on the host, but its environment policy keeps %s from commands, as it does with secrets; if the command needs %s, the user can allow it.",
		list, verb, it, it)
}

// tree returns the command's syntax, or nil if it is not known.
func (r Result) tree() *script.Tree {
	if len(r.Command.Text) > maxAdvised {
		return nil
	}
	return r.Command.Tree()
}

// code returns the exit code, if the shell itself ended with it.
func (r Result) code() (code int, ok bool) {
	p := r.Output.Process
	if p.ExitCode == nil || p.Signal != "" || p.EndedBy != procmgr.CauseExit {
		return 0, false
	}
	return *p.ExitCode, true
}

// containsAny reports whether s contains one of the words.
func containsAny(s string, words ...string) bool {
	for _, w := range words {
		if strings.Contains(s, w) {
			return true
		}
	}
	return false
}
