package osproc

import (
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

func checkPlatform() error { return nil }

// lastInheritable returns 0: a leader inherits only the handles that it is given.
func lastInheritable() int { return 0 }

// A session is the system's side of one tree: the leader, and the job object
// that holds the leader and everything that it starts.
type session struct {
	pid    int
	cookie string
	cmd    *exec.Cmd
	exited chan struct{} // closed when the leader has exited
	done   chan struct{} // closed by Tree.Abandon

	// mu guards the fields below, and that the job is not closed while it is used.
	mu       sync.Mutex
	job      job
	ended    syscall.Signal // the signal that ended the job; 0 for none yet
	released bool
}

// fork starts a leader in a job of its own.
func (s *System) fork(c *Command, file, cookie string) (*Tree, error) {
	if err := checkStdin(c.Stdin); err != nil {
		return nil, err
	}
	line := commandLine(file, c.Argv)
	if utf16, err := windows.UTF16FromString(line); err != nil {
		return nil, forkError(err, file)
	} else if len(utf16) > maxCommandLine {
		return nil, xerrors.Errorf("the command line has %d characters, this system takes at most %d; write the command to a script file and run that: %w",
			len(utf16)-1, maxCommandLine-1, sentinel.ErrInvalid)
	}
	l := &session{cookie: cookie, exited: make(chan struct{}), done: make(chan struct{})}
	if c.Claim != nil {
		if err := c.Claim(l.lineage()); err != nil {
			return nil, err
		}
	}
	read, write, err := newPipePair()
	if err != nil {
		return nil, forkError(err, file)
	}
	defer write.Close() // a copy of it is the child's
	p := newPipe(read, c.Output)
	began := true
	if l.job, err = newJob(); err == nil {
		// An invisible console of its own, so the command cannot prompt on the host's
		// console or change its modes.
		const flags = windows.CREATE_NO_WINDOW | windows.CREATE_SUSPENDED
		l.cmd = &exec.Cmd{
			Path: file, Dir: c.Dir, Env: c.Env, Stdout: write, Stderr: write,
			SysProcAttr: &syscall.SysProcAttr{CmdLine: line, CreationFlags: flags},
		}
		began, err = c.onThread(l.begin)
	}
	if err != nil {
		l.release()
		p.close()
		return nil, startError(began, err, c.Dir, file)
	}
	go func() { // ends with the leader
		_ = l.cmd.Wait() // ProcessState tells
		close(l.exited)
	}()
	return &Tree{system: s, session: l, pipe: p}, nil
}

var resumeProcess = windows.NewLazySystemDLL("ntdll.dll").NewProc("NtResumeProcess")

// begin starts the leader. It runs nothing before it is in the job, so that no member
// is ever outside.
func (s *session) begin() error {
	if err := s.cmd.Start(); err != nil {
		return err
	}
	s.pid = s.cmd.Process.Pid
	err := errors.New("it has no handle")
	_ = s.cmd.Process.WithHandle(func(handle uintptr) {
		if err = windows.AssignProcessToJobObject(windows.Handle(s.job), windows.Handle(handle)); err != nil {
			return
		}
		if status, _, _ := resumeProcess.Call(handle); status != 0 {
			err = windows.NTStatus(status)
		}
	})
	if err != nil {
		_ = s.cmd.Process.Kill()
		_ = s.cmd.Wait()
	}
	return err
}

// forkError explains the error of a failed start. After it nothing runs.
func forkError(err error, shell string) error {
	switch {
	case errors.Is(err, windows.ERROR_TOO_MANY_OPEN_FILES), errors.Is(err, windows.ERROR_NO_SYSTEM_RESOURCES),
		errors.Is(err, windows.ERROR_NOT_ENOUGH_QUOTA), errors.Is(err, windows.ERROR_MAX_THRDS_REACHED):
		return xerrors.Errorf("the system has no resources left for another process (%v); end some of them: %w", err, sentinel.ErrLimit)
	case errors.Is(err, windows.ERROR_NOT_ENOUGH_MEMORY), errors.Is(err, windows.ERROR_OUTOFMEMORY),
		errors.Is(err, windows.ERROR_COMMITMENT_LIMIT):
		return xerrors.Errorf("no memory is left for another process (%v): %w", err, sentinel.ErrLimit)
	}
	return xerrors.Errorf("%s: %v; set Options.Shell: %w", shell, err, sentinel.ErrInvalid)
}

// reap returns the leader's exit. Windows has no signals: if this manager ended
// the job by one, the exit code is the one that was given for that signal.
func (s *session) reap() Exit {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released || s.cmd.ProcessState == nil {
		return Exit{Lost: true}
	}
	end := Exit{Status: s.cmd.ProcessState.ExitCode()}
	if s.ended != 0 && end.Status == 128+int(s.ended) {
		end.Signal = s.ended
	}
	return end
}

// release closes the job. All that is left in it ends.
func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.released {
		s.released = true
		s.job.close()
	}
}

// signal ends all processes of the job, whatever the signal: Windows cannot ask anything
// of a process that has a console of its own. The signal shows only in the exit code.
// Signal 0 asks. signal reports whether a process of the job was there.
func (s *session) signal(sig Signal) (left bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released || !s.job.lives() {
		return false, nil
	}
	if sig == 0 {
		return true, nil
	}
	if err = windows.TerminateJobObject(windows.Handle(s.job), 128+uint32(sig)); err == nil && s.ended == 0 {
		s.ended = sig
	}
	return true, err
}

// A job is a job object. It holds the processes of one tree, for good: it lets
// none of them break away.
type job windows.Handle

// newJob makes an empty job. When its last handle is closed, all its processes
// end: so a program that dies leaves nothing behind. A process that crashes in
// it ends too, and no dialog waits for a person.
func newJob() (job, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
	var pinned runtime.Pinner // a plain number does not keep the memory in its place
	pinned.Pin(&limits)
	defer pinned.Unpin()
	_, err = windows.SetInformationJobObject(handle, windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), uint32(unsafe.Sizeof(limits)))
	if err != nil {
		job(handle).close()
		return 0, err
	}
	return job(handle), nil
}

// lives reports whether a process of the job lives that is not the console which the
// system has made for the others. That ends by itself after them, and on a busy machine
// a good while after them.
func (j job) lives() bool {
	var list struct { // JOBOBJECT_BASIC_PROCESS_ID_LIST
		all, listed uint32
		pids        [16]uintptr
	}
	var pinned runtime.Pinner
	pinned.Pin(&list)
	defer pinned.Unpin()
	err := windows.QueryInformationJobObject(windows.Handle(j), windows.JobObjectBasicProcessIdList,
		uintptr(unsafe.Pointer(&list)), uint32(unsafe.Sizeof(list)), nil)
	if err != nil {
		return errors.Is(err, windows.ERROR_MORE_DATA) // more than the one console
	}
	const access = windows.SYNCHRONIZE | windows.PROCESS_QUERY_LIMITED_INFORMATION
	for _, pid := range list.pids[:list.listed] {
		handle, err := windows.OpenProcess(access, false, uint32(pid))
		if errors.Is(err, windows.ERROR_INVALID_PARAMETER) {
			continue // it has gone
		}
		lives := true
		if err == nil {
			state, _ := windows.WaitForSingleObject(handle, 0)
			lives = state != windows.WAIT_OBJECT_0 && !isConsole(handle)
			_ = windows.CloseHandle(handle)
		}
		if lives {
			return true
		}
	}
	return false
}

// isConsole reports whether a process runs the console of Windows.
func isConsole(handle windows.Handle) bool {
	name := make([]uint16, windows.MAX_LONG_PATH)
	size := uint32(len(name))
	system, err := windows.GetSystemDirectory()
	return err == nil && windows.QueryFullProcessImageName(handle, 0, &name[0], &size) == nil &&
		strings.EqualFold(windows.UTF16ToString(name[:size]), system+`\conhost.exe`)
}

func (j job) close() { _ = windows.CloseHandle(windows.Handle(j)) }

// newPipePair returns a pipe. Go's poller can wait for its read end, which
// works only for a pipe with a name.
func newPipePair() (r, w *os.File, err error) {
	name, err := windows.UTF16PtrFromString(`\\.\pipe\toolproc-` + rand.Text())
	if err != nil {
		return nil, nil, err
	}
	// The pipe has one instance, which must be the first. Its name cannot be guessed,
	// so the pipe cannot exist already. If another program opened it before us, our own
	// open would fail.
	read, err := windows.CreateNamedPipe(name,
		windows.PIPE_ACCESS_INBOUND|windows.FILE_FLAG_OVERLAPPED|windows.FILE_FLAG_FIRST_PIPE_INSTANCE,
		windows.PIPE_TYPE_BYTE|windows.PIPE_WAIT|windows.PIPE_REJECT_REMOTE_CLIENTS,
		1, 0, pipeSize, 0, nil)
	if err != nil {
		return nil, nil, err
	}
	write, err := windows.CreateFile(name, windows.GENERIC_WRITE|windows.FILE_READ_ATTRIBUTES, 0, nil, windows.OPEN_EXISTING, 0, 0)
	if err != nil {
		_ = windows.CloseHandle(read)
		return nil, nil, err
	}
	return os.NewFile(uintptr(read), "|0"), os.NewFile(uintptr(write), "|1"), nil
}

// whenReadable calls f each time that there is something to read, until f
// reports that no more bytes can come, or until the file is closed.
func whenReadable(file *os.File, conn syscall.RawConn, f func(fd uintptr) (more bool)) {
	for more := true; more; {
		_, err := file.Read(nil) // it returns when there are some bytes
		_ = conn.Control(func(fd uintptr) { more = f(fd) })
		if err != nil {
			return
		}
	}
}

var peekNamedPipe = windows.NewLazySystemDLL("kernel32.dll").NewProc("PeekNamedPipe")

// readNow reads from a pipe and does not wait. If the pipe is empty, n is 0, and more
// tells whether more bytes can still come.
func readNow(file *os.File, fd uintptr, buf []byte) (n int, more bool) {
	var there uint32
	if ok, _, _ := peekNamedPipe.Call(fd, 0, 0, 0, uintptr(unsafe.Pointer(&there)), 0); ok == 0 || there == 0 {
		return 0, ok != 0
	}
	n, err := file.Read(buf[:min(int(there), len(buf))])
	return n, err == nil
}

// signalName returns the name of a signal as [Signal] has it. Windows has no
// names of its own.
func signalName(s syscall.Signal) string {
	switch s {
	case SIGTERM:
		return "SIGTERM"
	case SIGINT:
		return "SIGINT"
	case SIGKILL:
		return "SIGKILL"
	}
	return "SIG" + strconv.Itoa(int(s))
}

// enterable reports whether this user may run a command in a directory. On
// Windows only a try can tell.
func enterable(string) bool { return true }
