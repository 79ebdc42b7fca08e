package procfile

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash"
	"io/fs"
)

// A versioner names the version of a file whose content is written to it: by the
// content, or by size and time if the file is too large to be edited.
type versioner struct {
	info fs.FileInfo
	sum  hash.Hash // nil: by size and time
	n    int64     // bytes of content
}

func newVersioner(info fs.FileInfo) *versioner {
	v := &versioner{info: info}
	if info.Size() <= MaxEdit {
		v.sum = sha256.New()
	}
	return v
}

func (v *versioner) Write(p []byte) (int, error) {
	if v.n += int64(len(p)); v.sum == nil {
		return len(p), nil
	}
	return v.sum.Write(p)
}

func (v *versioner) String() string {
	if v.sum == nil {
		return fmt.Sprintf("stat-%d-%d", v.info.Size(), v.info.ModTime().UnixNano())
	}
	return "sha256-" + hex.EncodeToString(v.sum.Sum(nil)[:16])
}

// versionOf returns the version of a content that can be edited.
func versionOf(content []byte) string {
	sum := sha256.Sum256(content)
	return "sha256-" + hex.EncodeToString(sum[:16])
}
