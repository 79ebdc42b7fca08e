package prockeep

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"
	"time"
)

// nameTime is how long a keeper waits for the name of one that is about to end.
const nameTime = 2 * time.Second

// nameOf returns the address at which the keeper of a directory is found even if that
// was removed: an abstract socket, see unix(7). A path means another directory in
// another mount namespace or below another root.
func nameOf(dir string) string {
	space, _ := os.Readlink("/proc/self/ns/mnt") // if it cannot be read, it is "" for other programs too
	var root syscall.Stat_t
	_ = syscall.Stat("/", &root) // it succeeds
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %s %d %d %s", os.Geteuid(), space, root.Dev, root.Ino, dir))
	return "@toolproc-keeper-" + hex.EncodeToString(sum[:16])
}

// dialName connects to the keeper that has the name of a directory. If nobody has it,
// or none can be had here, the error is errAbsent.
func dialName(ctx context.Context, dir string) (*net.UnixConn, error) {
	conn, err := dial(ctx, nameOf(dir))
	if err != nil && ctx.Err() == nil && !errors.Is(err, syscall.EAGAIN) {
		err = errAbsent
	}
	return conn, err
}

// listenName listens at the name of a directory. fd is that of a keeper which goes on
// as this one; negative if there is none.
func listenName(dir string, fd int) (*net.UnixListener, error) {
	address := &net.UnixAddr{Name: nameOf(dir), Net: "unix"}
	if fd >= 0 {
		file := os.NewFile(uintptr(fd), address.Name)
		defer file.Close() // it is duplicated
		l, err := net.FileListener(file)
		if err != nil {
			return nil, err
		}
		return l.(*net.UnixListener), nil //nolint:forcetypeassert // a keeper has given it
	}
	for late := time.Now().Add(nameTime); ; time.Sleep(time.Millisecond) {
		l, err := net.ListenUnix("unix", address)
		if !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
		conn, failed := dial(context.Background(), address.Name)
		if failed == nil {
			other := checkPeer(conn)
			conn.Close()
			if other != nil {
				return nil, other
			}
		}
		if time.Now().After(late) {
			return nil, err
		}
	}
}
