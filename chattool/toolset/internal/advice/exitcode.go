package advice

import (
	"fmt"
	"strings"

	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"mvdan.cc/sh/v3/syntax"
)

// The signals that have the same number on every system that has them, and the
// usual reason for a death by each.
var signals = map[int]string{
	1:  "SIGHUP",
	2:  "SIGINT",
	3:  "SIGQUIT",
	4:  "SIGILL",
	6:  "SIGABRT: it gave up by itself",
	8:  "SIGFPE",
	9:  "SIGKILL: out of memory, or a kill from outside",
	11: "SIGSEGV: it crashed",
	13: "SIGPIPE: its output had no reader left",
	14: "SIGALRM",
	15: "SIGTERM",
}

// exitCode explains an exit code that comes from the shell and not from the
// command itself. Any command may use these numbers, so the note says
// "usually".
func (r Result) exitCode() string {
	code, ok := r.code()
	if !ok || r.Output.Process.OOM || onWindows(r.Command.Shell) {
		return ""
	}
	switch code {
	case 124:
		if !strings.Contains(r.Command.Text, "timeout") || !timed(r.tree()) {
			return ""
		}
		return "exit_code 124 means that timeout ended the command. Leave timeout out: the timeout of " + r.Tools.Execute +
			" ends nothing, and " + r.Tools.Output + " waits on."
	case 126:
		return "exit_code 126 usually means that a file was found and could not be executed: use chmod +x, or name its interpreter first."
	case 127:
		if containsAny(r.Output.Text, "not found", "No such file") {
			return "" // the shell's message says it
		}
		return "exit_code 127 usually means that a command was not found: look at its spelling, PATH and the directory."
	}
	if signal, ok := signals[code-128]; ok {
		return fmt.Sprintf("exit_code %d usually means that a program that the command ran was ended by signal %d, %s.", code, code-128, signal)
	}
	return ""
}

// timed reports whether the last command of a script is timeout. It is false
// for a nil script.
func timed(tree *script.Tree) bool {
	if tree == nil {
		return false
	}
	last := tree.Stmts[len(tree.Stmts)-1]
	for {
		and, ok := last.Cmd.(*syntax.BinaryCmd)
		if !ok || and.Op != syntax.AndStmt {
			break
		}
		last = and.Y
	}
	return script.Direct(last) && script.Calls(last.Cmd, "timeout", "gtimeout")
}
