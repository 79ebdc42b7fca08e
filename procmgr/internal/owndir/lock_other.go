//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package owndir

import "os"

// take does nothing: there are no locks here, and takeAbandoned needs none.
func take(string) (*os.File, error) { return nil, nil }

// takeAbandoned always fails: the directories of a killed program stay, because they
// can't be told from the directories of a living program.
func takeAbandoned(string) (*os.File, error) { return nil, errTaken }
