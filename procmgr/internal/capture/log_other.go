//go:build !unix

package capture

import "io/fs"

// openNow is 0: an open never waits here.
const openNow = 0

// othersCanWrite returns false: the mode says nothing here.
func othersCanWrite(fs.FileInfo) bool { return false }
