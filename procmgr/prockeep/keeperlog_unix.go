//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// maxLog is the limit of keeper.log and of keeper.log.old in bytes.
const maxLog = 512 << 10

// A keeperLog writes to keeper.log. When that is full, it becomes
// keeper.log.old. A log that cannot be written, as on a full disk, loses lines
// and stops nothing.
type keeperLog struct {
	path   string
	follow []int // the descriptors of Go's own last words

	mu   sync.Mutex // guards the fields below
	file *os.File
	size int64
}

// openLog opens a log to append to it. The log of earlier keepers stays as long
// as there is room.
func openLog(path string) (*os.File, error) {
	if info, err := os.Stat(path); err == nil && info.Size() >= maxLog {
		_ = os.Rename(path, path+".old") // if it cannot be moved, it grows a little more
	}
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
}

// newKeeperLog returns a log that goes on in a file. The descriptors of that file
// follow it.
func newKeeperLog(path string, file *os.File, follow ...int) *keeperLog {
	l := &keeperLog{path: path, file: file, follow: follow}
	if info, err := file.Stat(); err == nil {
		l.size = info.Size()
	}
	return l
}

// Write implements [io.Writer].
func (l *keeperLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.size+int64(len(p)) > maxLog {
		l.turn()
	}
	n, _ := l.file.Write(p)
	l.size += int64(n)
	return len(p), nil
}

// goOn goes on at the path if the file was removed from there.
func (l *keeperLog) goOn() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if info, err := l.file.Stat(); err != nil || !isAt(l.path, info) {
		l.open()
	}
}

// turn begins a new file. The caller holds mu.
func (l *keeperLog) turn() {
	_ = os.Rename(l.path, l.path+".old") // if it fails, the file is opened as it is
	l.open()
}

// open goes on with what is at the path. The caller holds mu.
func (l *keeperLog) open() {
	next, err := os.OpenFile(l.path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		l.size = 0 // later
		return
	}
	for _, fd := range l.follow {
		_ = unix.Dup2(int(next.Fd()), fd) // it stays where it was otherwise
	}
	_ = next.Close()
	l.size = 0
}
