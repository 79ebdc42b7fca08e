package procmgr

import (
	"fmt"
	"log/slog"
)

// hook runs code of the host and survives its panic. A mistake in that code
// must not lose a process.
func (r *record) hook(name string, f func()) {
	defer func() {
		if v := recover(); v != nil {
			r.log(slog.LevelError, "hook panicked", slog.String("hook", name), slog.String("panic", fmt.Sprint(v)))
		}
	}()
	f()
}
