//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/xerrors"
)

// envMark is the environment variable by which a program knows that it has been
// started as a keeper. Its value says for which of two steps.
const (
	envMark = "TOOLPROC_KEEPER"
	// markLaunch is for a program that starts the keeper and exits. So the keeper
	// is nobody's child who would have to wait for it.
	markLaunch = "launch"
	// markHold is for a holder, which starts the keeper with markHeld.
	markHold = "hold"
	markHeld = "held"
	markKeep = "keep" // a keeper without a holder
)

// These descriptors of both steps are pipes from and to the opener.
const (
	fdOrder  = 3 // an order, in JSON, up to its end
	fdReport = 4 // a report, in JSON
)

// An order says what a keeper is to do. It goes through a pipe, because others
// can read a program's arguments and environment, and the options can have
// secrets.
type order struct {
	Dir     string `json:"dir"`
	Options passed `json:"options"`
	Token   string `json:"token"` // a name that no other keeper has
}

// A report says whether a keeper serves.
type report struct {
	Error   string `json:"error,omitempty"` // "": it serves
	Invalid bool   `json:"invalid,omitempty"`
	Taken   bool   `json:"taken,omitempty"` // another keeper may serve the directory
}

// launchTime is how long a program may take to become a keeper.
const launchTime = 30 * time.Second

// errTaken is the error of a keeper that could not take the socket.
var errTaken = xerrors.New("the socket is taken")

// self returns the path of this program. On Linux it leads to this very file,
// even if another one has taken its place meanwhile.
func self() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// minimalEnv is the environment of a keeper. Every command can read it.
func minimalEnv() (env []string) {
	for _, name := range []string{"PATH", "HOME", "LANG", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// called is set once Main has been called, and never changes back. Without that,
// this program cannot be started as a keeper: it would be a copy of itself that
// does its work a second time.
var called atomic.Bool

// fdOf returns the descriptor of a file. Its Fd method would make it one that
// blocks, for everybody who has it.
func fdOf(f *os.File) (fd int) {
	fd = -1
	raw, err := f.SyscallConn()
	if err == nil {
		_ = raw.Control(func(n uintptr) { fd = int(n) }) // it fails only if the file is closed
	}
	return fd
}

func closeAll(files []*os.File) {
	for _, f := range files {
		_ = f.Close() // it may be closed already
	}
}
