//go:build !linux

package procfile

import "os"

// attributes knows of none.
func attributes(*os.File) []string { return nil }
