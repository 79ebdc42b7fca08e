package proclocal

import (
	"fmt"
	"log/slog"
)

// hook runs a function of Options. If the function panics, hook logs the panic
// and returns: a mistake of the host must not lose a process.
func (r *record) hook(name string, f func()) {
	defer func() {
		if v := recover(); v != nil {
			r.log(slog.LevelError, "hook panicked", slog.String("hook", name), slog.String("panic", fmt.Sprint(v)))
		}
	}()
	f()
}
