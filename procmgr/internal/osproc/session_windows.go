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

// A session is the system's side of one tree: the leader, and the job object
// that holds the leader and everything that it starts.
type session struct {
	pid   int
	empty atomic.Bool   // nothing is left in the job
	done  chan struct{} // closed when nobody waits any longer

	// stop is an event that is set together with done. A wait for a process
	// cannot wait for a channel too.
	stop windows.Handle

	// mu guards the fields below. It also guards that no handle is closed while
	// a goroutine uses it other than the one that follows the tree.
	mu       sync.Mutex
	process  windows.Handle // 0 if none was started
	job      job
	ended    syscall.Signal // the signal that ended the job; 0 for none yet
	released bool
	closing  sync.Once
}

// newSession makes a session without a process. startIn starts the process.
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

// waitFor returns true when a handle is signalled. It returns false if the
// session is abandoned first, or if the time is over. It costs a thread.
func (s *session) waitFor(handle windows.Handle, milliseconds uint32) bool {
	event, err := windows.WaitForMultipleObjects([]windows.Handle{handle, s.stop}, false, milliseconds)
	return err == nil && event == windows.WAIT_OBJECT_0
}

// awaitLeader returns when the leader has exited.
func (s *session) awaitLeader() bool { return s.waitFor(s.process, windows.INFINITE) }

// reap returns the leader's exit. Windows has no signals: if this manager ended
// the job by one, the exit code is the one that was given for that signal.
func (s *session) reap() Exit {
	s.mu.Lock()
	defer s.mu.Unlock()
	var code uint32
	if err := windows.GetExitCodeProcess(s.process, &code); err != nil || !signalled(s.process) {
		return Exit{Lost: true}
	}
	end := Exit{Status: int(code), Usage: s.job.usage(s.process)}
	if s.ended != 0 && end.Status == 128+int(s.ended) {
		end.Signal = s.ended
	}
	return end
}

// signalled reports whether a process has exited. It does not wait.
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

// sealed reports whether no member can leave the session unseen: none can leave
// a job.
func (s *session) sealed() bool { return true }

// release closes the handles. The goroutine that follows the tree calls it
// last.
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

// abandon wakes the goroutines that wait in the session.
func (s *session) abandon() {
	s.closing.Do(func() { close(s.done) })
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.released {
		_ = windows.SetEvent(s.stop)
	}
}

// A member is a live process of a job. A handle holds it: while the handle is
// open, the number is not given away.
type member struct {
	pid    int
	handle windows.Handle // 0 if the process cannot be opened
}

// members returns the live processes of the job. await closes them.
func (s *session) members() (live []member) {
	const access = windows.SYNCHRONIZE | windows.PROCESS_QUERY_LIMITED_INFORMATION
	for _, pid := range s.job.pids() {
		handle, err := windows.OpenProcess(access, false, uint32(pid))
		switch {
		case errors.Is(err, windows.ERROR_INVALID_PARAMETER): // the process has gone
		case err != nil:
			live = append(live, member{pid: pid})
		case signalled(handle), isConsole(handle):
			_ = windows.CloseHandle(handle)
		default:
			live = append(live, member{pid: pid, handle: handle})
		}
	}
	// A number may have been given away before the process was opened. It
	// cannot be given away now, so its process is in the job or is a stranger.
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
// for the other processes of a job. It ends by itself after them.
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

// awaits reports false: no member can leave the job.
func (s *session) awaits() bool { return false }

// rescan is how often, in milliseconds, await looks again for a process for
// which it cannot wait.
const rescan = 100

// await takes over the members. It returns when all of them have gone, or when
// the session is abandoned.
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

// end ends all processes of the job.
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
