package sandbox

import (
	"encoding/json"
	"io/fs"
	"os"
	"slices"
	"sync"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

var _ proclocal.Sandbox = (*Box)(nil)

// A Box is a sandbox for all commands of a [proclocal.Local], or of several. It is
// safe for concurrent use. Close it after them.
type Box struct {
	policy Policy // resolved
	temp   string // a directory of the box
	tmpdir string // TMPDIR of the commands, who may know the directory by another name
	level  enforcer

	mu    sync.Mutex // guards the field below
	rules procmgr.SandboxRules

	closing  sync.Once
	closeErr error
}

// An enforcer is one Level.
type enforcer interface {
	wrap(dir string, argv, environ []string) (wrapped, outer []string, err error) // as Wrap of a proclocal.Sandbox
	onThread(start func() error) error                                            // as OnThread of a proclocal.Sandbox
	hide(dir string) (hidden []string, err error)                                 // as Hide of a Box; hidden are all directories
	close() error                                                                 // frees what it has of the system
}

// Argv implements [proclocal.Sandbox].
func (b *Box) Argv(argv []string) ([]string, error) {
	wrapped, _, err := b.level.wrap("", argv, os.Environ())
	return wrapped, err
}

// Wrap is Argv for a command that runs in a directory, with an environment. With
// Boundary, it is an error if commands do not see the directory. The environment that it
// returns has no variable by which a program in front of the shell would load another
// one, such as LD_PRELOAD; the shell gets those too.
func (b *Box) Wrap(dir string, argv, environ []string) (wrapped, outer []string, err error) {
	return b.level.wrap(dir, argv, environ)
}

// OnThread implements [proclocal.Sandbox].
func (b *Box) OnThread(start func() error) error { return b.level.onThread(start) }

// Rules implements [proclocal.Sandbox]. The paths are absolute and have no symbolic
// link.
func (b *Box) Rules() procmgr.SandboxRules {
	b.mu.Lock()
	defer b.mu.Unlock()
	rules := b.rules
	rules.Write, rules.Protect, rules.Hide = slices.Clone(rules.Write), slices.Clone(rules.Protect), slices.Clone(rules.Hide)
	return rules
}

// Environ returns the variables of commands: TMPDIR.
func (b *Box) Environ() []string { return []string{"TMPDIR=" + b.tmpdir} }

// Wraps reports whether the first process of a command is a program in front of its
// shell.
func (b *Box) Wraps() bool { return b.policy.Level == Boundary }

// Hide hides one more directory, from commands that are started later. A keeper calls it
// for its own. Accidents hide nothing: then it is [errors.ErrUnsupported].
func (b *Box) Hide(dir string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	hidden, err := b.level.hide(dir)
	if err != nil {
		return xerrors.Errorf("sandbox: hide: %w", err)
	}
	b.rules.Hide = hidden
	return nil
}

// Close ends the box and removes its temporary directory. From then on, OnThread is
// [procmgr.ErrClosed]. Commands that still run keep to the rules.
func (b *Box) Close() error {
	b.closing.Do(func() {
		b.closeErr = b.level.close()
		if err := removeAll(b.temp); b.closeErr == nil {
			b.closeErr = err
		}
		if b.closeErr != nil {
			b.closeErr = xerrors.Errorf("sandbox: close: %w", b.closeErr)
		}
	})
	return b.closeErr
}

// MarshalJSON returns the policy of the box, for a keeper that makes another one like it.
func (b *Box) MarshalJSON() ([]byte, error) { return json.Marshal(b.policy) }

// FromJSON makes a box like the one whose MarshalJSON has made data. It is a function for
// prockeep.Main:
//
//	prockeep.Main(sandbox.FromJSON)
func FromJSON(data json.RawMessage) (proclocal.Sandbox, error) {
	var p Policy
	if err := json.Unmarshal(data, &p); err != nil {
		return nil, xerrors.Errorf("sandbox: %v: %w", err, procmgr.ErrInvalid)
	}
	b, err := New(p)
	if err != nil {
		return nil, err
	}
	return b, nil
}

// removeAll removes a directory even if commands have removed their own write permission
// below it, as in a Go module cache. A command that still runs can't lead it elsewhere.
func removeAll(dir string) error {
	err := os.RemoveAll(dir)
	if err == nil {
		return nil
	}
	root, openErr := os.OpenRoot(dir)
	if openErr != nil {
		return err
	}
	defer root.Close()
	_ = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = root.Chmod(path, 0o700) // or it is told below
		}
		return nil
	})
	return os.RemoveAll(dir)
}
