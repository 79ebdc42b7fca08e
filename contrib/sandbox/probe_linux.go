package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// probeTime is how long an attempt may take.
const probeTime = 10 * time.Second

// verdictOf makes one attempt in a box.
func verdictOf(level Level, a attempt) Verdict {
	if level == Accidents && a.boundary {
		return NotStopped
	}
	dir, err := os.MkdirTemp(probeDir(), "toolproc-probe-")
	if err != nil {
		return Refused
	}
	defer os.RemoveAll(dir) //nolint:errcheck // nobody needs it
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		return Refused
	}
	pipe, inner := filepath.Join(dir, "pipe"), filepath.Join(dir, "dir")
	if err := errors.Join(os.Mkdir(inner, 0o700), unix.Mkfifo(pipe, 0o600)); err != nil {
		return Refused
	}
	reader, err := os.OpenFile(pipe, os.O_RDWR, 0)
	if err != nil {
		return Refused
	}
	defer reader.Close()
	var p Policy
	if a.policy != nil {
		p = a.policy(dir)
	}
	p.Level = level
	box, err := New(p)
	if err != nil {
		return Refused
	}
	defer box.Close() //nolint:errcheck // nobody needs it
	if a.script == "" {
		return Stopped // or New had failed
	}
	l, err := proclocal.New(&proclocal.Options{Sandbox: box})
	if err != nil {
		return Refused
	}
	defer l.Close() //nolint:errcheck // nothing runs
	out, err := l.Start(context.Background(), procmgr.StartRequest{
		Command: a.script, WorkDir: "/", Wait: probeTime,
		Env: map[string]string{"FILE": file, "PIPE": pipe, "PID": strconv.Itoa(os.Getpid())},
	})
	switch {
	case err != nil || out.Process.ExitCode == nil:
		return Refused
	case *out.Process.ExitCode == 0:
		return NotStopped
	}
	return Stopped
}

// probeDir is a directory for files that Boundary shows, as it does not show those of
// /tmp.
func probeDir() string {
	const visible = "/var/tmp"
	if info, err := os.Stat(visible); err == nil && info.IsDir() {
		return visible
	}
	return ""
}

// systemSockets returns the Unix sockets that commands reach whose policy has nothing but
// UnixSockets.
func systemSockets() []string {
	box, err := New(Policy{Level: Boundary, UnixSockets: true})
	if err != nil {
		return nil // other findings say so
	}
	defer box.Close() //nolint:errcheck // nobody needs it
	found, err := box.Sockets()
	if err != nil {
		return nil
	}
	return found
}
