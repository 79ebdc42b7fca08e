// What Linux alone has: see bsd.go for the others.

package prockeep

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr/internal/procstat"
)

// nameOf returns the beginning of the abstract addresses at which the keepers of a
// directory are found even if that was removed, see unix(7). A path means another
// directory in another mount namespace or below another root.
func nameOf(dir string) string {
	space, _ := os.Readlink("/proc/self/ns/mnt") // if it cannot be read, it is "" for other programs too
	var root syscall.Stat_t
	_ = syscall.Stat("/", &root) // it succeeds
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %d %d %s", os.Geteuid(), space, root.Dev, root.Ino, dir))
	return "@toolproc-keeper-" + hex.EncodeToString(sum[:16]) + "-"
}

// listenName listens at the abstract address of a keeper.
func listenName(dir, token string) (*net.UnixListener, error) {
	return net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: nameOf(dir) + token})
}

// dialName connects to the abstract address of a keeper. If another user listens there, no
// keeper does.
func dialName(ctx context.Context, dir, token string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", nameOf(dir)+token)
	if err == nil && !isOwn(conn) {
		conn.Close()
		return nil, errAbsent
	}
	return conn, err
}

// namedKeepers returns the tokens of the keepers of a directory that live.
func namedKeepers(dir string) (tokens []string) {
	text, _ := os.ReadFile("/proc/net/unix") // if it cannot be read, none is found
	name := nameOf(dir)
	for line := range bytes.Lines(text) {
		_, token, found := strings.Cut(strings.TrimSpace(string(line)), name)
		if found {
			tokens = append(tokens, token)
		}
	}
	return tokens
}

// withPeer calls f with the descriptor of a connection, and with the credentials of the
// program at its other end; of a listener, that is the program that has made it.
func withPeer(conn net.Conn, f func(fd int, peer *unix.Ucred) bool) (ok bool) {
	c, isConn := conn.(syscall.Conn)
	if !isConn {
		return false
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return false
	}
	err = raw.Control(func(fd uintptr) {
		peer, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		ok = err == nil && f(int(fd), peer)
	})
	return ok && err == nil
}

// isOwn reports whether the program at the other end of a connection runs as this user.
func isOwn(conn net.Conn) bool {
	return withPeer(conn, func(_ int, peer *unix.Ucred) bool { return int(peer.Uid) == os.Geteuid() })
}

// isFree reports whether the program that has made a connection is certainly no command
// of this keeper's sandbox. Such commands are confined more than this program: they
// can't gain privileges, and have one more seccomp filter or another user namespace.
// They can't give up any of these.
func isFree(conn net.Conn) bool {
	return withPeer(conn, func(fd int, peer *unix.Ucred) bool {
		if peer.Pid == 0 {
			return true // it is in another container, and a sandbox makes no namespace of processes
		}
		own, err := confinementOf("self")
		if err != nil {
			return false
		}
		theirs, err := confinementOf(strconv.Itoa(int(peer.Pid)))
		if err != nil {
			return false // it has gone, and may have been such a one
		}
		if pidfd, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, soPeerPidfd); err == nil { // since Linux 6.5
			defer unix.Close(pidfd)
			// Nothing that was read is of another process, which has got the number since.
			if n, err := unix.Poll([]unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}}, 0); n != 0 || err != nil {
				return false
			}
		}
		return theirs.noNewPrivs == 0 || theirs.users != "" && theirs.users == own.users && theirs.filters <= own.filters
	})
}

const soPeerPidfd = 77 // SO_PEERPIDFD

// A confinement is what a process cannot give up.
type confinement struct {
	noNewPrivs, filters int
	users               string // its user namespace; "" if that cannot be read
}

// confinementOf reads /proc/PID, see proc(5).
func confinementOf(pid string) (c confinement, err error) {
	status, err := os.ReadFile("/proc/" + pid + "/status")
	for line := range bytes.Lines(status) {
		_, _ = fmt.Sscanf(string(line), "NoNewPrivs: %d", &c.noNewPrivs)
		_, _ = fmt.Sscanf(string(line), "Seccomp_filters: %d", &c.filters)
	}
	var failed error
	if c.users, failed = os.Readlink("/proc/" + pid + "/ns/user"); errors.Is(failed, os.ErrNotExist) {
		err = failed
	}
	return c, err
}

// orphans are the processes whose parent has ended. A keeper's program does nothing
// else, so it adopts and reaps the orphans of its processes.
type orphans struct {
	zombies map[int]bool // seen by the last look
}

// adopt makes this program the parent of its descendants' orphans.
func (o *orphans) adopt() error {
	return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// reap reaps the orphans that were already zombies at the last look, because code in
// this program that started a process has waited for it by then. leaders returns a
// function that reports whether a process may still be waited for.
func (o *orphans) reap(leaders func() func(pid int) bool) {
	var info unix.Siginfo
	if err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil); err != nil || info.Signo == 0 {
		o.zombies = nil
		return
	}
	before, leads := o.zombies, leaders()
	o.zombies = make(map[int]bool)
	threads, _ := filepath.Glob("/proc/self/task/*")
	for _, thread := range threads {
		for _, pid := range procstat.Children(thread) {
			if p, ok := procstat.Look(pid); !ok || p.State != 'Z' || leads(pid) {
				continue
			}
			if o.zombies[pid] = true; before[pid] {
				_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil) // somebody else may have been faster
			}
		}
	}
}
