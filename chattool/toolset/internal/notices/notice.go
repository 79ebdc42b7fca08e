package notices

import (
	"fmt"
	"strings"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// maxToldCommand and maxToldLine are how much of a command and of a line of
	// output a notice quotes, in bytes of a result.
	maxToldCommand = 80
	maxToldLine    = 200
)

// notice says what has become of a process. What it quotes cannot leave its
// line, nor its quotes.
func (j *job) notice() string {
	p := j.process
	text := wording.Odd(p.ID)
	if command := strings.TrimSpace(p.Command); command != "" {
		text += " (" + wording.Quote(command, maxToldCommand) + ")"
	}
	if j.matched && !j.matchTold {
		text += " printed a line that matches notify_on: " + wording.Quote(j.matchedLine, maxToldLine)
		if j.ended || j.asks != nil {
			text += ", and"
		}
	}
	if j.asks != nil {
		text += " waits for input"
		if j.asks.Secret {
			text += ", without an echo, as for a password"
		}
		if j.question != "" {
			text += ": " + wording.Quote(j.question, maxToldLine)
		}
	}
	switch {
	case !j.ended:
		return text
	case j.lost:
		return text + " is no longer known to the process manager, and nobody can tell how it ended"
	}
	text += " " + howEnded(p)
	if j.last != "" && (j.last != j.matchedLine || j.matchTold) {
		text += "; last line: " + wording.Quote(j.last, maxToldLine)
	}
	return text
}

// howEnded says how a process has ended, and how long it ran.
func howEnded(p procmgr.Process) string {
	after := ""
	if ran := wording.Span(p.StartedAt, p.ExitedAt); ran > 0 {
		after = " after " + wording.Brief(ran)
	}
	code := ""
	if p.ExitCode != nil {
		code = fmt.Sprintf(" (exit code %d)", *p.ExitCode)
	}
	switch {
	case p.OOM:
		return "was most likely killed by the kernel's out-of-memory killer" + code + after
	case p.EndedBy == procmgr.CauseRequest:
		return "ended on request" + code + after
	case p.EndedBy == procmgr.CauseShutdown:
		return "ended with the process manager" + code + after
	case p.Signal != "":
		return "was ended by " + p.Signal + code + after
	case p.ExitCode != nil:
		return fmt.Sprintf("exited with code %d", *p.ExitCode) + after
	}
	return "ended" + after + " without a known exit code"
}
