//go:build !unix

package capture

import "io/fs"

// openNow is 0: an open never waits here.
const openNow = 0

// othersCanWrite returns false: the mode says nothing here.
func othersCanWrite(fs.FileInfo) bool { return false }

// identityOf returns zeros: here nothing tells a file from every other.
func identityOf(fs.FileInfo) (dev, ino uint64) { return 0, 0 }
