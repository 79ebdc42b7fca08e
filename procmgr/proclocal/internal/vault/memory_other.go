//go:build !linux

package vault

import "os"

// memory returns no file: nobody goes on with the processes of a program that died.
func memory([]byte) (*os.File, error) { return nil, nil }
