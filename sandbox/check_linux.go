package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"
)

// checkAccidents tries the rules on a thread that runs nothing else, and on a child of
// it. It makes files in a directory. The error names what is not enforced.
func checkAccidents(network Network, temp string) error {
	dir, err := os.MkdirTemp(temp, "probe")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // it goes with temp at the latest
	in, out := filepath.Join(dir, "in"), filepath.Join(dir, "out")
	for _, d := range []string{in, out} {
		if err := os.Mkdir(d, 0o700); err != nil {
			return err
		}
	}
	if err := os.WriteFile(filepath.Join(out, "full"), []byte("full"), 0o600); err != nil {
		return err
	}
	fds, _, err := openAll([]string{in})
	if err != nil {
		return err
	}
	defer closeAll(fds)
	t, err := newThread(func() error { return restrict(fds, network) })
	if err != nil {
		return err
	}
	defer func() {
		t.end()
		<-t.gone
	}()
	_, err = t.do(func() error { return tryRules(network, in, out) }, patience)
	return err
}

// tryRules runs on a thread that may write in one directory, and not in another.
func tryRules(network Network, in, out string) error {
	if err := touch(filepath.Join(in, "file")); err != nil {
		return xerrors.Errorf("a thread cannot write where it may: %w", err)
	}
	for what, try := range map[string]func() error{
		"a new file":        func() error { return touch(filepath.Join(out, "file")) },
		"truncate":          func() error { return unix.Truncate(filepath.Join(out, "full"), 0) },
		"remove":            func() error { return unix.Unlink(filepath.Join(out, "full")) },
		"rename":            func() error { return unix.Rename(filepath.Join(in, "file"), filepath.Join(out, "file")) },
		"a new file, by sh": func() error { return touchByChild(filepath.Join(out, "child")) },
	} {
		if try() == nil {
			return &lack{"Write", what + " outside succeeds"}
		}
	}
	if network != NoNetwork {
		return nil
	}
	if err := trySocket(unix.AF_UNIX, unix.SOCK_STREAM, 0); err != nil {
		return xerrors.Errorf("a thread without network has no Unix sockets either: %w", err)
	}
	for what, try := range map[string]func() error{
		"TCP":      func() error { return trySocket(unix.AF_INET, unix.SOCK_STREAM, 0) },
		"UDP":      func() error { return trySocket(unix.AF_INET, unix.SOCK_DGRAM, 0) },
		"MPTCP":    func() error { return trySocket(unix.AF_INET, unix.SOCK_STREAM, unix.IPPROTO_MPTCP) },
		"io_uring": tryRing,
	} {
		if try() != unix.EPERM {
			return &lack{"NoNetwork", what + " is not refused"}
		}
	}
	return nil
}

func touch(path string) error {
	fd, err := unix.Open(path, unix.O_CREAT|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err == nil {
		err = unix.Close(fd)
	}
	return err
}

// touchByChild is touch in a child of the calling thread. Without an sh there is none.
func touchByChild(path string) error {
	sh, err := exec.LookPath("sh")
	if err != nil {
		return err
	}
	_ = exec.Command(sh, "-c", `: > "$0"`, path).Run() // the file says whether it has worked
	_, err = os.Stat(path)
	return err
}

func trySocket(domain, kind, protocol int) error {
	fd, err := unix.Socket(domain, kind|unix.SOCK_CLOEXEC, protocol)
	if err == nil {
		_ = unix.Close(fd) // nothing was written
	}
	return err
}

func tryRing() error {
	if _, _, errno := unix.Syscall(unix.SYS_IO_URING_SETUP, 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
