//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package owndir

import "os"

// take does nothing: there is no lock here, and nobody looks for one.
func take(string) (*os.File, error) { return nil, nil }

// takeAbandoned always fails: the directories of a program that was killed
// stay, because nothing tells them from those of a living program.
func takeAbandoned(string) (*os.File, error) { return nil, errTaken }
