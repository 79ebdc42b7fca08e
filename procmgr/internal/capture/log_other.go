//go:build !unix

package capture

import "io/fs"

// openNow: there is nothing that an open waits for.
const openNow = 0

// othersCanWrite: the mode says nothing here.
func othersCanWrite(fs.FileInfo) bool { return false }
