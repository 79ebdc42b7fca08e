package toolset

import (
	"fmt"
	"strings"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// maxAdvice is how many notes on its command a result has, beside those on
	// how the process stands. More are not read.
	maxAdvice = 2
	// maxAdvised is the longest command that is parsed for a note, in bytes.
	maxAdvised = 16 << 10
	// maxNames is how many withheld variables are named.
	maxNames = 5
)

// An advice is what can be said about one result so that the model neither
// misreads it nor calls again for nothing.
type advice struct {
	out     procmgr.Output
	command *source
	// background is set where no call has waited for the command. reading is
	// set for process_output: the result of execute has said what holds at
	// once.
	background, reading bool
	// dumpTool is the tool to read files with, or noTool.
	dumpTool string
}

// advise adds the notes that hold, those that matter most first.
func (r *report) advise(a advice) {
	said := 0
	for _, note := range []func() string{a.withheld, a.prompt, a.pipeline, a.exitCode, a.waiting, a.dump} {
		words := note()
		if words == "" {
			continue
		}
		r.add(words)
		if said++; said == maxAdvice {
			return
		}
	}
}

// withheld names the variables that the command mentions and did not get. An
// echo of one is an empty line, and reads as if there were none.
func (a advice) withheld() string {
	names := a.out.Process.Withheld
	if len(names) == 0 || a.reading && !failed(a.out.Process) {
		return ""
	}
	list, verb, it := strings.Join(names[:min(len(names), maxNames)], ", "), "is", "it"
	if len(names) > 1 {
		verb, it = "are", "them"
	}
	if more := len(names) - maxNames; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s %s set on the host, but its environment policy keeps %s from commands, as it does with secrets; if the command needs %s, the user can allow it.",
		list, verb, it, it)
}

// dump names the tool to read files with, after a command that only prints
// files.
func (a advice) dump() string {
	p := a.out.Process
	if a.dumpTool == noTool || a.reading || a.background || p.State != procmgr.Exited || failed(p) || !a.command.dumpsFiles() {
		return ""
	}
	return "To read files use the " + a.dumpTool + " tool: it shows more of a file and costs less."
}

// script returns the command's syntax, or nil where that is not known.
func (a advice) script() *script {
	if len(a.command.text) > maxAdvised {
		return nil
	}
	return a.command.script()
}

// code returns the exit code, where the shell itself ended with it.
func (a advice) code() (code int, ok bool) {
	p := a.out.Process
	if p.ExitCode == nil || p.Signal != "" || p.EndedBy != procmgr.CauseExit {
		return 0, false
	}
	return *p.ExitCode, true
}

// ran returns how long the process has run, or 0.
func (a advice) ran() time.Duration {
	if ms := wallDuration(a.out.Process); ms != nil {
		return time.Duration(*ms) * time.Millisecond
	}
	return 0
}

// noTool is a ReadFileTool that there is not.
const noTool = "-"
