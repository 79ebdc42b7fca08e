//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package proclocal

import (
	"os"

	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// descriptors are those that a program has left, by the Seq of their process.
type descriptors map[uint64][]carry.File

// take returns one of them, which is the caller's from now on, or -1.
func (ds descriptors) take(seq uint64, role carry.Role) int {
	for i, f := range ds[seq] {
		if f.Role == role && f.FD >= 0 {
			ds[seq][i].FD = -1
			return f.FD
		}
	}
	return -1
}

// takeFile is take for a file; nil if there is none.
func (ds descriptors) takeFile(seq uint64, role carry.Role) *os.File {
	if fd := ds.take(seq, role); fd >= 0 {
		return os.NewFile(uintptr(fd), string(role))
	}
	return nil
}

// close closes those that nobody has taken.
func (ds descriptors) close() {
	for _, files := range ds {
		for i, f := range files {
			if f.FD >= 0 {
				osproc.CloseDescriptor(f.FD)
				files[i].FD = -1
			}
		}
	}
}

// filesLeft returns the descriptors of a tree that was frozen.
func filesLeft(r *record, f osproc.Frozen) (files []carry.File) {
	if f.Output >= 0 {
		role := carry.Output
		if r.terminal {
			role = carry.Terminal
		}
		files = append(files, carry.File{Role: role, FD: f.Output})
	}
	if f.Input >= 0 {
		files = append(files, carry.File{Role: carry.Input, FD: f.Input})
	}
	return files
}
