//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package owndir

import "os"

// take: there is no lock here, and nobody looks for one.
func take(string) (*os.File, error) { return nil, nil }

// takeAbandoned: what was left by a program that was killed stays, since nothing
// tells it from a living one's.
func takeAbandoned(string) (*os.File, error) { return nil, errTaken }
