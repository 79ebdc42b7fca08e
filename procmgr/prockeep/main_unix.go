//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep/internal/holder"
)

// runKeeper does the rest of Main. It exits by syscall.Exit, because os.Exit waits
// for a second in a program with the race detector, and somebody may wait for
// this program's end.
func runKeeper(sandboxes makers) {
	called.Store(true)
	makes.Store(len(sandboxes) > 0)
	switch os.Getenv(envMark) {
	case "":
		return
	case markLaunch:
		keepOut()
		syscall.Exit(relay())
	case markHold:
		syscall.Exit(hold())
	case markHeld:
		_ = os.Unsetenv(envMark) // its name is valid
		syscall.Exit(serveAsKeeper(sandboxes, true))
	default:
		_ = os.Unsetenv(envMark) // its name is valid
		syscall.Exit(serveAsKeeper(sandboxes, false))
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

// relay starts the holder, or the keeper where there are no holders, as a child
// that its caller need not wait for.
func relay() int {
	args, mark := []string{os.Args[0], nameKeeper}, markKeep
	if holder.Supported {
		args, mark = []string{os.Args[0], nameHolder}, markHold
	}
	path, err := self()
	if err == nil {
		pipes := []*os.File{os.NewFile(fdOrder, "order"), os.NewFile(fdReport, "report")}
		cmd := &exec.Cmd{
			Path: path, Args: args,
			Env:    append(minimalEnv(), envMark+"="+mark),
			Stdout: os.Stdout, Stderr: os.Stderr, ExtraFiles: pipes,
		}
		if err = cmd.Start(); err == nil {
			return 0 // and nobody waits for the keeper
		}
	}
	tell(xerrors.Errorf("the keeper's program cannot be started: %w", err))
	return 1
}

// The names by which the two processes are found in a list of processes.
const (
	nameKeeper = "toolproc-keeper"
	nameHolder = "toolproc-holder"
)

// maxDeaths is for tests; 0 is the holder's default.
var maxDeaths int

// hold is a keeper's holder, and returns the code to exit with.
func hold() int {
	nameProcess(nameHolder)
	from, to := os.NewFile(fdOrder, "order"), os.NewFile(fdReport, "report")
	data, err := io.ReadAll(from)
	_ = from.Close() // it has been read
	if err == nil {
		unix.CloseOnExec(fdReport)
		err = holder.Run(holder.Config{
			Args: []string{os.Args[0], nameKeeper}, Env: append(minimalEnv(), envMark+"="+markHeld),
			Order: data, Report: to,
			// The opener has read the report of a keeper that has sent one.
			Failed: func(why string) {
				_ = json.NewEncoder(to).Encode(report{Error: "the keeper has ended before it served (" + why + "); " + nameLog + " may say why"})
			},
			MaxDeaths: maxDeaths,
			Logger:    slog.New(slog.NewTextHandler(os.Stderr, nil)),
		})
	}
	if err != nil {
		tell(xerrors.Errorf("the keeper's holder cannot work: %w", err))
		return 1
	}
	return 0
}

// serveAsKeeper serves as a keeper, with a holder or without, and returns the code
// to exit with.
func serveAsKeeper(sandboxes makers, held bool) int {
	nameProcess(nameKeeper)
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
	s, err := newServer(o, sandboxes, held)
	if errors.Is(err, errOver) {
		return 0
	}
	tell(err)
	if err != nil {
		return 1
	}
	s.serve()
	return 0
}

// nameProcess gives this process a name for ps.
func nameProcess(name string) {
	_ = os.WriteFile("/proc/self/comm", []byte(name), 0) // there is none on other systems than Linux
}

// tooFew says what to do about an error of a process that may open too few files.
func tooFew(err error) string {
	var limit unix.Rlimit
	if !errors.Is(err, unix.EMFILE) || unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return ""
	}
	return fmt.Sprintf("; the keeper may have %d files open at once: raise that limit (ulimit -n) for the program that opens the directory", limit.Max)
}

// tell sends the report to the opener. If the opener has died, a keeper that
// serves goes on for the next one.
func tell(err error) {
	var r report
	if err != nil {
		r = report{Error: procmgr.Reason(err) + tooFew(err), Invalid: errors.Is(err, procmgr.ErrInvalid), Taken: errors.Is(err, errTaken)}
	}
	to := os.NewFile(fdReport, "report")
	_ = json.NewEncoder(to).Encode(r)
	_ = to.Close()
}
