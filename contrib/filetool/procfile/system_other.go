//go:build !unix && !windows

package procfile

import "os"

const noWait = 0

func isNotDir(error) bool   { return false }
func isReadOnly(error) bool { return false }
func isBusy(error) bool     { return false }
func isFull(error) bool     { return false }

// keepOwner does nothing: the new file has the owner of new files.
func keepOwner(*os.File, os.FileInfo) error { return nil }

// links knows of no further names.
func links(os.FileInfo) uint64 { return 1 }

func rename(root *os.Root, from, to string) error { return root.Rename(from, to) }
