package procmgr

import (
	"fmt"
	"log/slog"
)

// hook runs code of the host's and outlives its panic: a process must not be
// lost to a watcher's mistake.
func (r *record) hook(name string, f func()) {
	defer func() {
		if v := recover(); v != nil {
			r.log(slog.LevelError, "hook panicked", slog.String("hook", name), slog.String("panic", fmt.Sprint(v)))
		}
	}()
	f()
}
