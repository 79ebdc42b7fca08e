//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// envMark is the environment variable by which a program knows that it has been started
// as a keeper. With markLaunch it starts the keeper, which is then nobody's child who
// would have to wait for it, and exits.
const (
	envMark    = "TOOLPROC_KEEPER"
	markLaunch = "launch"
	markKeep   = "keep"
)

// These descriptors of both are pipes from and to the opener.
const (
	fdOrder  = 3 // an order, in JSON, up to its end
	fdReport = 4 // a report, in JSON
)

// An order says what a keeper is to do. It goes through a pipe, because others can read a
// program's arguments and environment, and the options can have secrets.
type order struct {
	Dir     string
	Options passed
}

// A report says whether a keeper serves.
type report struct {
	Token   string
	Error   string // "": it serves
	Invalid bool
}

// launchTime is how long a program may take to become a keeper.
const launchTime = 30 * time.Second

// Main turns the program into a keeper if Open has started it as one; then it does not
// return. Otherwise it returns at once. Call it first in main, and in TestMain.
//
// A function makes the sandbox of the keeper from the JSON of Options.Local.Sandbox, such
// as sandbox.FromJSON of module github.com/toolproc/toolproc/contrib/sandbox. If there
// are several, the first one that returns no error counts. Without one, Open with a
// Sandbox is [procmgr.ErrInvalid].
func Main(sandboxes ...func(json.RawMessage) (proclocal.Sandbox, error)) {
	called.Store(true)
	makes.Store(len(sandboxes) > 0)
	mark := os.Getenv(envMark)
	if mark == "" {
		return
	}
	_ = os.Unsetenv(envMark) // its name is valid
	run := relay
	if mark != markLaunch {
		run = func() error { return keep(sandboxes) }
	}
	code := 0
	if err := run(); err != nil {
		tell(report{Error: procmgr.Reason(err) + tooFew(err), Invalid: errors.Is(err, procmgr.ErrInvalid)})
		code = 1
	}
	syscall.Exit(code) // os.Exit waits for a second in a program with the race detector
}

// relay starts the keeper, which inherits no descriptor that this program has inherited,
// such as the pipe of a shell that would wait for its end.
func relay() error {
	const most = 4096
	for fd := 3; fd < most; fd++ {
		unix.CloseOnExec(fd)
	}
	path, err := self()
	if err != nil {
		return err
	}
	report := os.NewFile(fdReport, "report")
	if _, err := report.Write([]byte{'\n'}); err != nil { // this program calls Main
		return err
	}
	cmd := &exec.Cmd{
		Path: path, Args: []string{os.Args[0], nameKeeper}, Env: append(minimalEnv(), envMark+"="+markKeep),
		Stdout: os.Stdout, Stderr: os.Stderr,
		ExtraFiles: []*os.File{os.NewFile(fdOrder, "order"), report},
	}
	if err := cmd.Start(); err != nil {
		return xerrors.Errorf("the keeper's program cannot be started: %w", err)
	}
	return nil
}

// nameKeeper is the name by which a keeper is found in a list of processes.
const nameKeeper = "toolproc-keeper"

// keep is the rest of a keeper's life.
func keep(sandboxes makers) error {
	_ = os.WriteFile("/proc/self/comm", []byte(nameKeeper), 0) // there is none on other systems than Linux
	from := os.NewFile(fdOrder, "order")
	data, err := io.ReadAll(from)
	_ = from.Close() // it has been read
	unix.CloseOnExec(fdReport)
	var o order
	if err == nil {
		err = json.Unmarshal(data, &o)
	}
	if err != nil {
		return xerrors.Errorf("the variable %s is set, and no program has started this one as a keeper: %w", envMark, procmgr.ErrInvalid)
	}
	k, err := newKeeper(o, sandboxes)
	if err == nil {
		err = k.take()
	}
	if err != nil {
		return err
	}
	tell(report{Token: k.token})
	k.run()
	return nil
}

// tell sends a report to the opener. If that has died, a keeper that serves goes on for
// the next one.
func tell(r report) {
	to := os.NewFile(fdReport, "report")
	_ = json.NewEncoder(to).Encode(r)
	_ = to.Close()
}

// tooFew says what to do about an error of a process that may open too few files.
func tooFew(err error) string {
	var limit unix.Rlimit
	if !errors.Is(err, unix.EMFILE) || unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) != nil {
		return ""
	}
	return fmt.Sprintf("; the keeper may have %d files open at once: raise that limit (ulimit -n) for the program that opens the directory", limit.Max)
}

// redirectOutput makes a file the stdout and stderr of this program, for Go's own last
// words.
func redirectOutput(f *os.File) {
	for _, fd := range []int{1, 2} {
		_ = unix.Dup2(int(f.Fd()), fd) // it stays where it was otherwise
	}
}

// self returns the path of this program. On Linux it leads to this very file, even if
// another one has taken its place meanwhile.
func self() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// errNoKeeper is the error of a program that has sent no report.
var errNoKeeper = xerrors.New("it is no keeper")

// launch starts a keeper, and returns its token when it serves. It leaves nothing behind
// if it fails. The caller holds the lock of the directory.
func (h *Host) launch(ctx context.Context) (token string, err error) {
	program, err := h.program()
	if err != nil {
		return "", err
	}
	log, err := openLog(filepath.Join(h.dir, nameLog))
	if err != nil {
		return "", xerrors.Errorf("%s: %w", nameLog, err)
	}
	defer log.Close()
	said, _ := log.Seek(0, io.SeekEnd) // where its own words begin
	read, send, err := os.Pipe()
	if err != nil {
		return "", err
	}
	receive, write, err := os.Pipe()
	if err != nil {
		closeAll(read, send)
		return "", err
	}
	defer closeAll(send, receive)
	name := os.Args[0]
	if h.path != "" {
		name = program
	}
	cmd := &exec.Cmd{
		Path: program, Args: []string{name}, Dir: "/", Env: append(minimalEnv(), envMark+"="+markLaunch),
		Stdout: log, Stderr: log, ExtraFiles: []*os.File{read, write},
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	err = cmd.Start()
	closeAll(read, write)
	if err != nil {
		return "", xerrors.Errorf("the keeper's program cannot be started: %w", err)
	}
	got, err := h.instruct(ctx, send, receive)
	if err != nil {
		// It has not been waited for, so the number is still its group's.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // an error means that all of it has ended
	}
	_ = cmd.Wait() // its report counts, not its code
	switch {
	case errors.Is(err, errNoKeeper):
		return "", xerrors.Errorf("%s was started as a keeper and did not become one%s; its main function has to call prockeep.Main before anything else: %w",
			program, lastWords(log, said), procmgr.ErrInvalid)
	case err == nil && got.Invalid:
		return "", xerrors.Errorf("%s: %w", got.Error, procmgr.ErrInvalid)
	case err == nil && got.Error != "":
		return "", xerrors.New(got.Error)
	}
	return got.Token, err
}

// instruct sends the order and reads the report.
func (h *Host) instruct(ctx context.Context, send, receive *os.File) (got report, err error) {
	for _, f := range []*os.File{send, receive} {
		_ = f.SetDeadline(time.Now().Add(launchTime)) // pipes have deadlines
		defer context.AfterFunc(ctx, func() { _ = f.SetDeadline(time.Unix(1, 0)) })()
	}
	data, err := json.Marshal(order{Dir: h.dir, Options: h.passed})
	if err != nil {
		return got, err
	}
	if _, err = send.Write(data); err == nil {
		err = send.Close()
	}
	calls := 0 // whether the program calls Main
	if err == nil {
		calls, err = receive.Read(make([]byte, 1))
	}
	if err == nil {
		err = json.NewDecoder(receive).Decode(&got)
	}
	switch {
	case ctx.Err() != nil:
		return got, ctx.Err()
	case err != nil && calls > 0:
		return got, errEarly
	case err != nil:
		return got, errNoKeeper
	}
	return got, nil
}

func closeAll(files ...*os.File) {
	for _, f := range files {
		_ = f.Close() // it may be closed already
	}
}

// program returns the path of the keeper's program. A program with the rights of another
// user or group must not be started in the background by whoever may run it.
func (h *Host) program() (path string, err error) {
	switch {
	case os.Getenv(envMark) != "":
		return "", xerrors.Errorf("this program was started as a keeper, and calls prockeep.Open before prockeep.Main: %w", procmgr.ErrInvalid)
	case h.path != "":
		path, err = exec.LookPath(h.path)
	case !called.Load():
		return "", xerrors.Errorf("this program has not called prockeep.Main, so it cannot be started again as a keeper: call it first in main (in a test, in TestMain), or set Options.Path: %w", procmgr.ErrInvalid)
	default:
		path, err = self()
	}
	var info fs.FileInfo
	if err == nil {
		info, err = os.Stat(path)
	}
	switch {
	case err != nil:
		return "", xerrors.Errorf("the keeper's program cannot be found: %w", err)
	case os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid(), info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return "", xerrors.Errorf("%s runs with the rights of its owner (setuid or setgid), and is not started as a keeper: %w", path, procmgr.ErrInvalid)
	}
	return path, nil
}

// lastWords returns the last line that a program has written to the log, as a part of a
// sentence.
func lastWords(log *os.File, from int64) string {
	const most = 200
	info, err := log.Stat()
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(io.NewSectionReader(log, max(from, info.Size()-most), most))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return " (its last words: " + strings.ToValidUTF8(last, "\uFFFD") + ")"
	}
	return ""
}
