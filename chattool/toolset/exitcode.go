package toolset

import (
	"fmt"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// The signals that have the same number on every system that has them, and what
// a death by one usually means.
var signals = map[int]string{
	1:  "SIGHUP",
	2:  "SIGINT",
	3:  "SIGQUIT",
	4:  "SIGILL",
	6:  "SIGABRT: it gave up by itself",
	8:  "SIGFPE",
	9:  "SIGKILL: out of memory, or a kill from outside",
	11: "SIGSEGV: it crashed",
	13: "SIGPIPE: what read its output had ended",
	14: "SIGALRM",
	15: "SIGTERM",
}

// exitCode says what an exit code stands for that is the shell's and not the
// command's own. Any command may use these numbers for itself, hence "usually".
func (a advice) exitCode() string {
	code, ok := a.code()
	if !ok || a.out.Process.OOM {
		return ""
	}
	switch code {
	case 124:
		if !strings.Contains(a.command.text, "timeout") || !a.script().timed() {
			return ""
		}
		return "exit_code 124 is how timeout says that it ended the command. Leave it out: the timeout of " + toolExecute +
			" ends nothing, and " + toolOutput + " waits on."
	case 126:
		return "exit_code 126 usually means that something was found and could not be executed: it needs chmod +x, or its interpreter in front."
	case 127:
		if containsAny(a.out.Text, "not found", "No such file") {
			return "" // the shell has said it
		}
		return "exit_code 127 usually means that a command was not found: look at its spelling, PATH and the directory."
	}
	if signal, ok := signals[code-128]; ok {
		return fmt.Sprintf("exit_code %d usually means that something that the command ran was ended by signal %d, %s.", code, code-128, signal)
	}
	return ""
}

// timed reports whether the last command of a script is timeout. That of a nil
// script is not.
func (s *script) timed() bool {
	if s == nil {
		return false
	}
	last := s.stmts[len(s.stmts)-1]
	for {
		and, ok := last.Cmd.(*syntax.BinaryCmd)
		if !ok || and.Op != syntax.AndStmt {
			break
		}
		last = and.Y
	}
	return direct(last) && calls(last.Cmd, "timeout", "gtimeout")
}
