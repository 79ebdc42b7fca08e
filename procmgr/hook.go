package procmgr

import (
	"fmt"
	"log/slog"
)

// hook runs code of the host's and outlives its panic: a process must not be
// lost to a watcher's mistake.
func (l *Local) hook(name string, r *record, f func()) {
	defer func() {
		if v := recover(); v != nil {
			r.log(slog.LevelError, "hook panicked", slog.String("hook", name), slog.String("panic", fmt.Sprint(v)))
		}
	}()
	f()
}
