package osproc

import (
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/windows"
)

// A session is the system's side of one process: the shell, and the job object
// that holds it and all that it starts.
type session struct {
	pid   int
	empty atomic.Bool   // nothing is left in the job
	done  chan struct{} // closed when nobody waits any longer

	// stop is an event that is set together with done: a wait for a process
	// cannot wait for a channel.
	stop windows.Handle

	// mu guards what follows, and that no handle is closed while it is used
	// by another goroutine than the one that watches the process.
	mu       sync.Mutex
	process  windows.Handle // 0 where none was started
	job      job
	ended    syscall.Signal // what the job was ended with; 0 for nothing yet
	released bool
	closing  sync.Once
}

// newSession makes one without a process, for startIn to start it.
func newSession() (*session, error) {
	j, err := newJob()
	if err != nil {
		return nil, err
	}
	stop, err := windows.CreateEvent(nil, 1, 0, nil)
	if err != nil {
		j.close()
		return nil, err
	}
	return &session{job: j, stop: stop, done: make(chan struct{})}, nil
}

// waitFor returns true once a handle is signalled, and false where the session
// is abandoned before. It costs a thread.
func (s *session) waitFor(handle windows.Handle, milliseconds uint32) bool {
	event, err := windows.WaitForMultipleObjects([]windows.Handle{handle, s.stop}, false, milliseconds)
	return err == nil && event == windows.WAIT_OBJECT_0
}

// awaitLeader returns once the shell has exited.
func (s *session) awaitLeader() bool { return s.waitFor(s.process, windows.INFINITE) }

// reap takes the shell's exit. There are no signals here: what this manager has
// ended by one has the exit code that it was given for that.
func (s *session) reap() Exit {
	s.mu.Lock()
	defer s.mu.Unlock()
	var code uint32
	if err := windows.GetExitCodeProcess(s.process, &code); err != nil || !signalled(s.process) {
		return Exit{Lost: true}
	}
	end := Exit{code: int(code), Usage: s.job.usage(s.process)}
	if s.ended != 0 && end.code == 128+int(s.ended) {
		end.Signal = s.ended
	}
	return end
}

// signalled asks without waiting whether a process has exited.
func signalled(process windows.Handle) bool {
	event, err := windows.WaitForSingleObject(process, 0)
	return err == nil && event == windows.WAIT_OBJECT_0
}

// vacant reports whether nothing is left in the job.
func (s *session) vacant(*os.File) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.released || !s.job.populated()
}

// sealed reports whether nothing can leave the session unseen: nothing leaves a
// job.
func (s *session) sealed() bool { return true }

// release closes the handles. Whoever watches the process calls it, in the end.
func (s *session) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return
	}
	s.released = true
	s.job.close()
	if s.process != 0 {
		_ = windows.CloseHandle(s.process)
	}
	_ = windows.CloseHandle(s.stop)
}

// abandon wakes whoever waits in the session.
func (s *session) abandon() {
	s.closing.Do(func() { close(s.done) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.released {
		_ = windows.SetEvent(s.stop)
	}
}

// A member is a live process of a job, held by a handle: as long as that is
// open, its number is not given away.
type member struct {
	pid    int
	handle windows.Handle // 0 where it cannot be opened
}

// members returns what lives in the job, for await to close.
func (s *session) members() (live []member) {
	const access = windows.SYNCHRONIZE | windows.PROCESS_QUERY_LIMITED_INFORMATION
	for _, pid := range s.job.pids() {
		handle, err := windows.OpenProcess(access, false, uint32(pid))
		switch {
		case errors.Is(err, windows.ERROR_INVALID_PARAMETER): // it has gone
		case err != nil:
			live = append(live, member{pid: pid})
		case signalled(handle), isConsole(handle):
			_ = windows.CloseHandle(handle)
		default:
			live = append(live, member{pid: pid, handle: handle})
		}
	}
	// A number may have been given away before it was opened. Now that it
	// cannot be, who has it is in the job or is a stranger.
	still := s.job.pids()
	return slices.DeleteFunc(live, func(m member) bool {
		if slices.Contains(still, m.pid) {
			return false
		}
		m.close()
		return true
	})
}

// isConsole reports whether a process is the console that the system has made
// for the others of a job. It ends after them, by itself.
func isConsole(handle windows.Handle) bool {
	name := make([]uint16, windows.MAX_LONG_PATH)
	size := uint32(len(name))
	system, err := windows.GetSystemDirectory()
	return err == nil && windows.QueryFullProcessImageName(handle, 0, &name[0], &size) == nil &&
		strings.EqualFold(windows.UTF16ToString(name[:size]), system+`\conhost.exe`)
}

func (m member) close() {
	if m.handle != 0 {
		_ = windows.CloseHandle(m.handle)
	}
}

func closeMembers(members []member) {
	for _, m := range members {
		m.close()
	}
}

// rescan is how often a process is looked for that cannot be waited for, in
// milliseconds.
const rescan = 100

// await takes the members over and returns once all of them have gone, or the
// session is closed.
func (s *session) await(members []member) {
	defer closeMembers(members)
	for _, m := range members {
		if m.handle != 0 {
			s.waitFor(m.handle, windows.INFINITE)
		} else {
			_, _ = windows.WaitForSingleObject(s.stop, rescan)
		}
	}
}

// end ends all that is in the job.
func (s *session) end(sig syscall.Signal) (left []int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return nil, nil
	}
	if err := s.job.terminate(128 + int(sig)); err != nil {
		return s.job.pids(), err
	}
	if s.ended == 0 {
		s.ended = sig
	}
	return s.job.pids(), nil
}
