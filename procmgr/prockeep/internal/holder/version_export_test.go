//go:build linux

package holder

// CheckVersion is checkVersion.
func CheckVersion(version uint64) error { return checkVersion(version) }
