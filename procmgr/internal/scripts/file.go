package scripts

import (
	"bytes"
	"io"
	"os"
)

// maxText is how much of a file is read, in bytes.
const maxText = 256 << 10

// readText returns the beginning of a file, or "" if it is no regular file or
// is not text. A command may have put anything there, and may change it at any
// time. readText never waits for a FIFO or a device.
func readText(path string) string {
	before, err := os.Stat(path)
	if err != nil || !before.Mode().IsRegular() || before.Size() == 0 {
		return "" // a read of some files below /proc waits; their size is 0
	}
	file, err := os.OpenFile(path, os.O_RDONLY|openNow, 0)
	if err != nil {
		return ""
	}
	defer file.Close()
	if info, err := file.Stat(); err != nil || !os.SameFile(before, info) {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(file, maxText))
	if err != nil || bytes.IndexByte(text, 0) >= 0 {
		return ""
	}
	return string(text)
}
