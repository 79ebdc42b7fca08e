//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Open starts the program as a launcher, in a session of its own. The launcher starts
// the keeper, passes its report on and exits. So the keeper is not the child of a
// program that would have to wait for it. It inherits only three descriptors: stdin is
// a pipe with the order, because others can read a program's arguments and environment,
// and the options can have secrets; stdout is a pipe for the report; stderr is the log.

const (
	// envMark is the environment variable by which a program knows what it was started
	// as. It also stands in front of each report.
	envMark    = "TOOLPROC_KEEPER"
	markLaunch = "launch"
	markKeep   = "keep"
	// maxInherited is the highest descriptor that a keeper certainly does not inherit, such
	// as the pipe of a shell that would wait for its end.
	maxInherited = 4096
	// launchTime is how long a program may take to become a keeper.
	launchTime = 30 * time.Second
	// nameKeeper is the name by which a keeper is found in a list of processes.
	nameKeeper = "toolproc-keeper"
)

// A report says whether a keeper serves.
type report struct {
	Error   string // "": it does
	Invalid bool
}

// Main turns the program into a keeper if Open has started it as one; then it does not
// return. Otherwise it returns at once. Call it first in main, and in TestMain.
//
// A function makes the sandbox of the keeper from the JSON of Options.Local.Sandbox, such
// as sandbox.FromJSON of module github.com/toolproc/toolproc/contrib/sandbox. If there
// are several, the first one that returns no error counts. Without one, Open with a
// Sandbox is [procmgr.ErrInvalid].
func Main(sandboxes ...func(json.RawMessage) (proclocal.Sandbox, error)) {
	called.Store(true)
	mark := os.Getenv(envMark)
	if mark == "" || privileged() {
		return
	}
	_ = os.Unsetenv(envMark) // its name is valid
	run := relay
	if mark != markLaunch {
		run = func() error { return keep(sandboxes) }
	}
	code := 0
	if err := run(); err != nil {
		tell(report{Error: procmgr.Reason(err), Invalid: errors.Is(err, procmgr.ErrInvalid)})
		code = 1
	}
	syscall.Exit(code) // os.Exit waits for a second in a program with the race detector
}

// tell sends a report to the opener. If that has died, a keeper that serves goes on for
// the next one.
func tell(r report) {
	data, _ := json.Marshal(r) // it has only strings
	_, _ = fmt.Printf("\n%s %s\n", envMark, data)
}

// relay starts the keeper and passes its report on.
func relay() error {
	for fd := 3; fd <= maxInherited; fd++ {
		unix.CloseOnExec(fd)
	}
	path, err := self()
	if err != nil {
		return err
	}
	cmd := &exec.Cmd{
		Path: path, Args: []string{os.Args[0], nameKeeper}, Env: append(minimalEnv(), envMark+"="+markKeep),
		Stdin: os.Stdin, Stderr: os.Stderr,
	}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return xerrors.Errorf("the keeper's program cannot be started: %w", err)
	}
	_, err = io.Copy(os.Stdout, out)
	return err
}

// keep is the rest of a keeper's life.
func keep(sandboxes makers) error {
	_ = os.WriteFile("/proc/self/comm", []byte(nameKeeper), 0) // there is none on other systems than Linux
	var o order
	if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
		return xerrors.Errorf("the variable %s is set, and no program has started this one as a keeper: %w", envMark, procmgr.ErrInvalid)
	}
	k, err := newKeeper(o, sandboxes)
	if err != nil {
		return err
	}
	tell(report{})
	if err := unix.Dup2(int(os.Stderr.Fd()), int(os.Stdout.Fd())); err != nil {
		return err
	}
	k.run()
	return nil
}

// self returns the path of this program. On Linux it leads to this very file, even if
// another one has taken its place meanwhile.
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

// launch starts a keeper, and returns when it serves. It leaves nothing behind if it
// fails. The caller holds the lock of the directory.
func (h *Host) launch(ctx context.Context) error {
	program, err := launchable()
	if err != nil {
		return err
	}
	order, err := json.Marshal(h.order)
	if err != nil {
		return err
	}
	log, err := openLog(h.order.Dir)
	if err != nil {
		return xerrors.Errorf("%s cannot be opened: %w", nameLog, err)
	}
	defer log.Close()
	ctx, cancel := context.WithTimeout(ctx, launchTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program)
	cmd.Args, cmd.Dir, cmd.Env = []string{os.Args[0]}, "/", append(minimalEnv(), envMark+"="+markLaunch)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(order), log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) } // with the keeper
	cmd.WaitDelay = time.Second
	out, failed := cmd.Output()
	_, text, _ := bytes.Cut(out, []byte("\n"+envMark+" ")) // the program may print something before it calls Main
	var got report
	reported := json.Unmarshal(text, &got) == nil
	switch {
	case !reported && ctx.Err() != nil:
		return xerrors.Errorf("the keeper's program has not become one in time: %w", ctx.Err())
	case !reported:
		return xerrors.Errorf("%s was started as a keeper, and ended before it served (%v): %s may say why, and its main function has to call prockeep.Main before anything else",
			program, failed, filepath.Join(h.order.Dir, nameLog))
	case got.Invalid:
		return xerrors.Errorf("%s: %w", got.Error, procmgr.ErrInvalid)
	case got.Error != "":
		return xerrors.New(got.Error)
	}
	return nil
}

// privileged reports whether this program has more rights than its user, because it is
// setuid or setgid. It never becomes a keeper, to which a user gives any order.
func privileged() bool { return os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid() }

// launchable returns the path of this program if it can be started as a keeper.
func launchable() (string, error) {
	path, err := self()
	switch {
	case !called.Load():
		return "", xerrors.Errorf("this program has not called prockeep.Main, so it cannot be started again as a keeper: call it first in main (in a test, in TestMain): %w", procmgr.ErrInvalid)
	case err != nil:
		return "", xerrors.Errorf("the keeper's program cannot be found: %w", err)
	case privileged():
		return "", xerrors.Errorf("%s runs with the rights of its owner (setuid or setgid), and is not started as a keeper: %w", path, procmgr.ErrInvalid)
	}
	return path, nil
}

const (
	// nameLog is the file with what keepers have logged, and Go's own last words.
	nameLog = "keeper.log"
	// maxLog is how much a keeper may log in bytes, and the size of a log beyond which
	// the next keeper begins a new one.
	maxLog = 512 << 10
)

// openLog opens the log to append to it. A full one becomes keeper.log.old.
func openLog(dir string) (*os.File, error) {
	path := filepath.Join(dir, nameLog)
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		_ = os.Rename(path, path+".old") // otherwise it grows a little more
	}
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
}
