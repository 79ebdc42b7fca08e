package osproc

import (
	"log/slog"
	"sync/atomic"
)

// A Config says how a System runs commands.
type Config struct {
	// Cgroup is a directory of a cgroup v2 file system. Each tree gets a cgroup
	// of its own in it. "" means no cgroups.
	Cgroup string
	// NoPidfd runs without pidfds, as on a kernel before 5.4. NoTrace marks
	// leaders only when they run already, as in a sandbox that forbids ptrace.
	// NoMark does not mark them. NoPoll runs as if the kernel had no room for
	// another descriptor to wait for. Tests use these.
	NoPidfd, NoTrace, NoMark, NoPoll bool
	// Logger gets a line for each dead System whose remains Open ends.
	Logger *slog.Logger
}

// lacks are the means that a system does not have, or must not use.
type lacks struct {
	pidfd, mark bool
	trace       atomic.Bool // becomes true when a start has shown it
}
