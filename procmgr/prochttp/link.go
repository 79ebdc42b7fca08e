package prochttp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/xerrors"
)

const (
	// frameHeader is the length of the header of an HTTP/2 frame in bytes.
	frameHeader = 9
	// maxBanner is how much an error quotes of what came instead of HTTP/2, in
	// bytes.
	maxBanner = 512
	// bannerTime is how long the rest of that may take to come.
	bannerTime = 200 * time.Millisecond
)

// A link is a connection of ClientOptions.Dial, below HTTP/2. It looks at the
// first bytes of the far side, and remembers why the connection has ended.
type link struct {
	net.Conn
	established chan struct{} // closed when the far side has begun to speak HTTP/2
	broken      chan struct{} // closed when the connection has failed
	closed      chan struct{} // closed when Conn.Close has returned

	// Only the goroutine that reads uses this: the bytes that it has read
	// ahead.
	ahead []byte
	began bool

	inUse   atomic.Bool // whoever dials has let go of it
	closing sync.Once
	mu      sync.Mutex // guards the fields below
	err     error      // why the connection has failed
	heard   time.Time  // when the far side was heard last
}

func newLink(conn net.Conn) *link {
	return &link{
		Conn:        conn,
		established: make(chan struct{}),
		broken:      make(chan struct{}),
		closed:      make(chan struct{}),
		heard:       time.Now(),
	}
}

// Read implements [net.Conn].
func (l *link) Read(p []byte) (int, error) {
	if !l.began {
		l.began = true
		if err := l.begin(); err != nil {
			return 0, l.fail(err)
		}
		close(l.established)
	}
	if len(l.ahead) > 0 {
		n := copy(p, l.ahead)
		l.ahead = l.ahead[n:]
		return n, nil
	}
	n, err := l.Conn.Read(p)
	l.mu.Lock()
	l.heard = time.Now()
	l.mu.Unlock()
	if err != nil && n == 0 {
		err = l.fail(err)
	}
	return n, err
}

// Write implements [net.Conn]. If the far side takes nothing any more, the
// goroutine that reads learns the reason.
func (l *link) Write(p []byte) (int, error) {
	n, err := l.Conn.Write(p)
	select {
	case <-l.established:
		if err != nil {
			err = l.why(err)
		}
	default:
	}
	return n, err
}

// why returns the reason of an error: the failure of the connection, if it is
// known soon.
func (l *link) why(err error) error {
	over := time.NewTimer(endTime)
	defer over.Stop()
	select {
	case <-l.broken:
		return l.failure()
	case <-over.C:
		return err
	}
}

// refused returns the reason why the first bytes could not be written: those of
// the far side may say it. Nobody reads.
func (l *link) refused(err error) error {
	_ = l.Conn.SetReadDeadline(time.Now().Add(endTime)) // without a deadline, the far side speaks or ends
	if _, said := l.Read(make([]byte, 1)); said != nil && !errors.Is(said, os.ErrDeadlineExceeded) {
		return said
	}
	return err
}

// begin reads the header of the first frame. The far side has to begin with its
// settings, see RFC 9113, section 3.4.
func (l *link) begin() error {
	head := make([]byte, 0, maxBanner)
	for len(head) < frameHeader {
		n, err := l.Conn.Read(head[len(head):frameHeader])
		head = head[:len(head)+n]
		if err != nil {
			if banner := plain(head); banner != "" {
				return &bannerError{banner: banner, cause: err}
			}
			return err
		}
	}
	if isSettings(head) {
		l.ahead = head
		return nil
	}
	// The rest of the line, or of the page, is most likely on its way.
	_ = l.Conn.SetReadDeadline(time.Now().Add(bannerTime)) // without a deadline, the far side speaks or ends
	for len(head) < maxBanner && bytes.IndexByte(head, 0) < 0 {
		n, err := l.Conn.Read(head[len(head):maxBanner])
		head = head[:len(head)+n]
		if err != nil {
			break
		}
	}
	return &bannerError{banner: plain(head)}
}

// isSettings reports whether this is the header of a SETTINGS frame that is no
// acknowledgement.
func isSettings(head []byte) bool {
	length := binary.BigEndian.Uint32(head) >> 8
	return head[3] == 4 && head[4] == 0 && binary.BigEndian.Uint32(head[5:]) == 0 && length%6 == 0 && length <= 16<<10
}

// plain returns the text before HTTP/2's own bytes. A frame of settings begins
// with a NUL, and no banner has one.
func plain(b []byte) string {
	text, _, _ := bytes.Cut(b, []byte{0})
	return string(text)
}

// A bannerError says what the far side has sent instead of HTTP/2.
type bannerError struct {
	banner string
	cause  error // why nothing came after it; nil if something did
}

func (e *bannerError) Error() string {
	text := fmt.Sprintf("the far side does not speak HTTP/2 at once, it begins with %q: keep login scripts and banners from writing to its stdout", e.banner)
	if e.cause != nil {
		text += ": " + e.cause.Error()
	}
	return text
}

func (e *bannerError) Unwrap() error { return e.cause }

// fail remembers the first error of the connection, and returns it.
func (l *link) fail(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
		close(l.broken)
	}
	return l.err
}

// failure returns why the connection has failed, or nil.
func (l *link) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// silence returns for how long nothing was heard of the far side.
func (l *link) silence() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return time.Since(l.heard)
}

// errEnded is the error of a connection that this side has closed.
var errEnded = xerrors.New("the connection was closed")

// Close implements [net.Conn]. HTTP/2 closes connections while calls wait for
// it, so Close does not wait for a command to end. Before the connection is in
// use, Close does nothing: whoever dials has still to learn why it failed.
func (l *link) Close() error {
	if l.inUse.Load() {
		l.end()
	}
	return nil
}

// end begins to close the connection. The goroutine ends when closed is closed;
// Client.Close waits for that.
func (l *link) end() {
	l.closing.Do(func() {
		go func() {
			defer close(l.closed)
			_ = l.Conn.Close() // the connection is over in any case
			_ = l.fail(errEnded)
		}()
	})
}

// said returns what the far side has said beside the connection, such as on the
// stderr of a command.
func (l *link) said() string {
	if c, ok := l.Conn.(interface{ said() string }); ok {
		return c.said()
	}
	return ""
}
