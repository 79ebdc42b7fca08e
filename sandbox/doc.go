// Package sandbox holds commands to rules: where they may write, and whether they reach
// a network. The rules hold for all that a command starts, and for no thread of the
// program that starts it.
//
//	box, err := sandbox.New(sandbox.Policy{Write: []string{dir}, Network: sandbox.NoNetwork})
//	manager, err := proclocal.New(&proclocal.Options{Sandbox: box})
//
// It is a module of its own, and works on Linux. On other systems [New] returns
// [errors.ErrUnsupported].
package sandbox
