package osproc

import (
	"bytes"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/toolproc/toolproc/procmgr/internal/procstat"
)

// These are how long one search waits for processes that are in the middle of
// an exec: in all, and for each process. An exec takes some 100 µs, and longer
// if the new program comes from a slow disk.
const (
	maxPatience     = 400 * time.Millisecond
	maxPatienceEach = 100 * time.Millisecond
)

// An environReader looks for cookies in the environments of processes.
type environReader struct {
	buf []byte
	// patience is how much longer it waits for processes that are between two
	// programs. A process of a marked tree needs none, because its mark stays.
	patience time.Duration
}

// errNoEnviron says that nobody can tell now if a process has a cookie.
var errNoEnviron = errors.New("no environment to read")

// read returns the environment of a process. It is empty if there is none or if
// it is another user's. For a moment of its exec a process has no environment;
// then read looks again. The bytes are valid until the next call.
func (r *environReader) read(pid int) ([]byte, error) {
	patience := min(r.patience, maxPatienceEach)
	for again, pause := 0, 50*time.Microsecond; ; again++ {
		n, err := r.readOnce(pid)
		if errors.Is(err, os.ErrPermission) {
			return nil, nil
		}
		if err != nil {
			return nil, err
		}
		if n > 0 {
			return r.buf[:n], nil
		}
		switch environOf(pid) {
		case noEnviron:
			return nil, nil
		case someEnviron:
			if again == 12 {
				return nil, errNoEnviron
			}
			time.Sleep(20 * time.Microsecond)
		case unknownEnviron:
			if patience <= 0 {
				return nil, errNoEnviron
			}
			time.Sleep(pause)
			patience -= pause
			r.patience -= pause
			pause *= 2
		}
	}
}

// readOnce reads the environment of a process into the buffer.
func (r *environReader) readOnce(pid int) (n int, err error) {
	file, err := os.Open("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return 0, err
	}
	defer file.Close()
	if r.buf == nil {
		r.buf = make([]byte, 16<<10)
	}
	for {
		got, err := file.Read(r.buf[n:])
		n += got
		if err != nil || got == 0 {
			return n, nil
		}
		if n == len(r.buf) {
			r.buf = append(r.buf, make([]byte, n)...)
		}
	}
}

// The environment that a process may have if it reads as empty.
const (
	noEnviron      = iota
	someEnviron    // there is one now
	unknownEnviron // an exec has not written it yet
)

// environOf tells which of these a process has.
func environOf(pid int) int {
	p, ok := procstat.Look(pid)
	switch begin, end := p.Environ[0], p.Environ[1]; {
	case !ok || p.Ended() || p.Exiting:
		return noEnviron
	case end == 0:
		return unknownEnviron
	case begin != end:
		return someEnviron
	}
	return noEnviron
}

// eachCookie calls f with the name of each cookie in an environment, until f
// returns false.
func eachCookie(environ []byte, f func(name []byte) bool) {
	rest := environ
	for {
		at := bytes.Index(rest, []byte(CookiePrefix))
		if at < 0 {
			return
		}
		start := at == 0 || rest[at-1] == 0
		rest = rest[at:]
		name, _, ok := bytes.Cut(rest[:min(len(rest), maxCookie+1)], []byte{'='})
		if start && ok && !f(name) {
			return
		}
		rest = rest[len(CookiePrefix):]
	}
}

// inheritedCookies returns the cookies that this program has itself: those of
// the managers around it.
func inheritedCookies() map[string]bool {
	all := make(map[string]bool)
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); strings.HasPrefix(name, CookiePrefix) {
			all[name] = true
		}
	}
	return all
}
