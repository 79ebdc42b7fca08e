package advice

import (
	"strings"
	"time"

	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/procmgr"
)

// maxAdvised is the longest command that is parsed for a note, in bytes.
const maxAdvised = 16 << 10

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
	// WorkDir is the directory that the call named, or "".
	WorkDir string
	// Sandbox has the rules under which the command has run, if it has failed; nil is
	// none.
	Sandbox *procmgr.SandboxRules
	Tools   Tools
}

// Tools are the names by which the model knows the tools.
type Tools struct {
	Execute, Output, Signal string
	// Input is the tool that writes to a stdin, or "" if there is none.
	Input string
	// ReadFile is the tool that reads files, or "" if there is none.
	ReadFile string
	// ReadFileCall is set if that tool takes a path, and an offset in lines.
	ReadFileCall bool
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
