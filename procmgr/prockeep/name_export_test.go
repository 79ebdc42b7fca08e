//go:build linux

package prockeep

// NameOf is nameOf.
func NameOf(dir string) string { return nameOf(dir) }
