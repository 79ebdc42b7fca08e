//go:build netbsd || openbsd || dragonfly

package prockeep

// peerUser knows nothing: package unix has no call for it on these systems. The
// directory belongs to this user alone, and so does the socket in it.
func peerUser(int) (uid int, known bool, err error) { return 0, false, nil }

// boxed knows nothing: there are no sandboxes on these systems.
func boxed(int) bool { return false }
