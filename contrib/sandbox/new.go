package sandbox

import "golang.org/x/xerrors"

// New returns a box that enforces a policy, or an error that names the part that this
// machine does not enforce. Then errors.Is(err, [errors.ErrUnsupported]) holds, as
// it does on every system but Linux. With Boundary, New has a command try what the policy
// forbids. A path that cannot be used is [procmgr.ErrInvalid].
//
// Accidents takes Linux 6.2, and amd64 or arm64. Rules hold the directories as they are: if
// the host removes one and makes it anew, the next command gets rules for the new one, and
// can neither signal nor trace what commands of before have left running. Devices such as
// /dev/null, terminals and /dev/shm can always be written to. With NoNetwork a command
// gets Unix sockets, and netlink ones that list interfaces, and no others: tests that
// listen on loopback fail. As no command gains privileges, sudo does not work.
//
//	                                              Accidents    Boundary
//	writing, making, moving, removing outside     stopped      stopped
//	chmod, chown, utimes, setxattr outside        not stopped  stopped
//	reading outside                               not stopped  not stopped, but for Hide
//	a signal to another process, a debugger on it stopped      stopped
//	reading the memory of the host's program      not stopped  stopped
//	a network, with NoNetwork                     stopped      stopped
//	a Unix socket with a path, such as
//	docker.sock, without UnixSockets              not stopped  stopped
//
// [docs/security.md] has all that was tried. Signals are stopped since Linux 6.15, or with
// its fix in an older version.
//
// [docs/security.md]: https://github.com/toolproc/toolproc/blob/main/docs/security.md
func New(p Policy) (*Box, error) {
	b, err := open(p)
	if err != nil {
		return nil, xerrors.Errorf("sandbox: new: %w", err)
	}
	return b, nil
}
