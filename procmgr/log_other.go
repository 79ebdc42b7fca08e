//go:build !unix

package procmgr

import (
	"io/fs"
	"os"
)

// claimLogs: nobody else removes it.
func claimLogs(*os.File) bool { return true }

// abandoned: what a Local left that was killed stays, since nothing tells it
// from a living one's.
func abandoned(*os.File) bool { return false }

// othersCanWrite: the mode says nothing here.
func othersCanWrite(fs.FileInfo) bool { return false }
