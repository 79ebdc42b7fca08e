// Package sandbox holds commands to rules: where they may write, and whether they reach
// a network. The rules hold for all that a command starts, and for no thread of the
// program that starts it.
//
//	box, err := sandbox.New(sandbox.Policy{Write: []string{dir}, Network: sandbox.NoNetwork})
//	manager, err := proclocal.New(&proclocal.Options{Sandbox: box})
//
// [Accidents] stops what goes wrong, and not a command that wants to get out. [Boundary]
// takes the program bubblewrap and stops more. A test for what depends on a box needs a
// box: the rules are the kernel's.
//
// It is a module of its own, and works on Linux. On other systems [New] returns
// [errors.ErrUnsupported].
package sandbox
