//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// runKeeper does the rest of Main. It exits by syscall.Exit, because os.Exit waits
// for a second in a program with the race detector, and somebody may wait for
// this program's end.
func runKeeper() {
	switch os.Getenv(envMark) {
	case "":
		return
	case markLaunch:
		keepOut()
		syscall.Exit(relay())
	default:
		_ = os.Unsetenv(envMark) // its name is valid
		syscall.Exit(keep())
	}
}

// keepOut keeps the keeper from inheriting what this program has inherited, such
// as the pipe of a shell that would then wait for its end.
func keepOut() {
	const most = 4096
	for fd := 3; fd < most; fd++ {
		unix.CloseOnExec(fd)
	}
}

// relay starts the keeper as a child that its caller need not wait for.
func relay() int {
	name := os.Args[0]
	path, err := self()
	if err == nil {
		pipes := []*os.File{os.NewFile(fdOrder, "order"), os.NewFile(fdReport, "report")}
		cmd := &exec.Cmd{
			Path: path, Args: []string{name, "toolproc-keeper"},
			Env:    append(minimalEnv(), envMark+"="+markKeep),
			Stdout: os.Stdout, Stderr: os.Stderr, ExtraFiles: pipes,
		}
		if err = cmd.Start(); err == nil {
			return 0 // and nobody waits for the keeper
		}
	}
	tell(xerrors.Errorf("the keeper's program cannot be started: %w", err))
	return 1
}

// keep serves as a keeper, and returns the code to exit with.
func keep() int {
	nameProcess()
	from := os.NewFile(fdOrder, "order")
	data, err := io.ReadAll(from)
	var o order
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	_ = from.Close() // it has been read
	if err != nil {
		fmt.Fprintf(os.Stderr, "prockeep: the variable %s is set, but no program has started this one as a keeper\n", envMark)
		return 2
	}
	s, err := newServer(o)
	tell(err)
	if err != nil {
		return 1
	}
	s.serve()
	return 0
}

// nameProcess gives this process a name for ps.
func nameProcess() {
	_ = os.WriteFile("/proc/self/comm", []byte("toolproc-keeper"), 0) // there is none on other systems than Linux
}

// tell sends the report to the opener. If the opener has died, a keeper that
// serves goes on for the next one.
func tell(err error) {
	var r report
	if err != nil {
		r = report{Error: procmgr.Reason(err), Invalid: errors.Is(err, procmgr.ErrInvalid), Taken: errors.Is(err, errTaken)}
	}
	to := os.NewFile(fdReport, "report")
	_ = json.NewEncoder(to).Encode(r)
	_ = to.Close()
}
