package advice

import "fmt"

// isStopped reports whether the process, or a part of it, is stopped by a
// signal.
func (r Result) isStopped() bool { return r.Alive && r.Output.Process.Stopped }

// stopped says that a process is stopped, which looks as if it were waiting for
// something, and how it goes on.
func (r Result) stopped() string {
	if !r.isStopped() {
		return ""
	}
	return fmt.Sprintf("The process, or a part of it, is stopped by a signal (SIGSTOP, SIGTSTP, SIGTTIN or SIGTTOU), and does nothing until it is continued: kill -s CONT -- -%d continues it, and %s ends it.",
		r.Output.Process.PID, r.Tools.Signal)
}
