//go:build !unix

package capture

import (
	"io/fs"
	"os"
)

// openNow: there is nothing that an open waits for.
const openNow = 0

// claimLogs: nobody else removes it, and nobody at all while it is open.
func claimLogs(dir *os.File) bool {
	dir.Close()
	return true
}

// claimAbandoned: what a Local left that was killed stays, since nothing tells
// it from a living one's, which could not remove it while it is open here.
func claimAbandoned(string) *os.File { return nil }

// othersCanWrite: the mode says nothing here.
func othersCanWrite(fs.FileInfo) bool { return false }
