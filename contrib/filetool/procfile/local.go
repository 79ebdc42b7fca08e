package procfile

import (
	"errors"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// LocalOptions configures [NewLocal]. The zero value of every field is its default.
type LocalOptions struct {
	// Dir is the directory at which relative paths begin. "" is Root, and without a
	// Root the current directory of this program at the time of each call.
	Dir string
	// Root is the directory below which all files are. Nothing outside of it can be
	// read or written, by any path, link or race; see [os.Root] for the platforms on
	// which that holds. "" is no limit.
	Root string
	// Sandbox has the rules of the sandbox in which commands run, of the Rules of
	// proclocal.Options.Sandbox: a file is written and edited below its Write alone, and
	// not in its Protect; a file in its Hide is not read. nil is no limit but Root. A
	// relative path begins at Root, and without a Root at the current directory. Paths that
	// do not exist, and a Write that is not below Root, are [procmgr.ErrInvalid]. A hard link to what is protected or hidden is another name of
	// it, which no rule has. On Linux a link that is changed in the middle of a call leads
	// to nothing that is protected or hidden; elsewhere it may.
	Sandbox *procmgr.SandboxRules
	// Redact has values that are masked in results, besides the ones that envpolicy's
	// default policy withholds from commands: of the variables of this program that look
	// like secrets, values and lines of 16 bytes or more. A value is masked as it is, and in
	// no other form, such as base64. A Value of fewer than 4 bytes is procmgr.ErrInvalid.
	Redact []Secret
}

// A Secret is a value that is masked: [withheld: Name] stands in its place.
type Secret struct{ Name, Value string }

// Local is the [Files] of this machine. It is safe for concurrent use. Several
// Locals, also of several programs, may write the same files: on Unix one waits for
// the other.
type Local struct {
	dir    string // absolute, or "" for the current one
	root   *tree  // nil: no limit
	write  []*tree
	limits bool // write counts
	rules  rules
	redact secrets
	turn   chan struct{} // held by the call that writes
}

var _ Files = (*Local)(nil)

// A tree is a directory below which everything is that a path may lead to.
type tree struct {
	given, real string // its path as it was given and without links, both absolute
	root        *os.Root
}

// NewLocal returns the files of this machine. opts may be nil, and is copied. Close
// the Local when it is no longer needed, if it has a Root or a Sandbox.
func NewLocal(opts *LocalOptions) (*Local, error) {
	l, err := newLocal(opts)
	if err != nil {
		return nil, xerrors.Errorf("procfile: new local: %w", err)
	}
	return l, nil
}

func newLocal(opts *LocalOptions) (_ *Local, err error) {
	var o LocalOptions
	if opts != nil {
		o = *opts
	}
	l := &Local{limits: o.Sandbox != nil, redact: slices.Clone(o.Redact), turn: make(chan struct{}, 1)}
	defer func() {
		if err != nil {
			_ = l.Close() // the error says more
		}
	}()
	for _, secret := range l.redact {
		if secret.Name == "" || len(secret.Value) < minGiven {
			return nil, xerrors.Errorf("LocalOptions.Redact: the value of %.80q has no name, or fewer than %d bytes: %w", secret.Name, minGiven, procmgr.ErrInvalid)
		}
	}
	if o.Root != "" {
		if l.root, err = openTree("Root", o.Root); err != nil {
			return nil, err
		}
		l.dir = l.root.real
	}
	if o.Dir != "" {
		if l.dir, err = filepath.Abs(l.below(o.Dir)); err != nil {
			return nil, xerrors.Errorf("Dir: %v: %w", err, procmgr.ErrInvalid)
		}
		if l.root != nil {
			if _, ok := l.root.rel(l.dir); !ok {
				return nil, xerrors.Errorf("Dir %s is not below Root: %w", l.dir, procmgr.ErrInvalid)
			}
		}
	}
	if o.Sandbox == nil {
		return l, nil
	}
	for _, dir := range o.Sandbox.Write {
		t, err := openTree("Sandbox.Write", l.below(dir))
		if err != nil {
			return nil, err
		}
		l.write = append(l.write, t)
		l.rules.write = append(l.rules.write, t.real)
		if l.root != nil && !within(l.root.real, t.real) {
			return nil, xerrors.Errorf("Sandbox.Write has %s, which is not below Root: %w", dir, procmgr.ErrInvalid)
		}
	}
	if l.rules.protect, err = l.resolve("Sandbox.Protect", o.Sandbox.Protect); err != nil {
		return nil, err
	}
	if l.rules.hide, err = l.resolve("Sandbox.Hide", o.Sandbox.Hide); err != nil {
		return nil, err
	}
	// Of one below another, the first that has a path counts.
	slices.SortStableFunc(l.write, func(a, b *tree) int { return len(a.real) - len(b.real) })
	return l, nil
}

// openTree opens a directory; what says which option has it.
func openTree(what, dir string) (*tree, error) {
	given, real, err := unlink(what, dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil, xerrors.Errorf("%s: %v: %w", what, err, procmgr.ErrInvalid)
	}
	return &tree{given: given, real: real, root: root}, nil
}

// unlink returns the path of an option as it was given, and without links, both absolute.
func unlink(what, path string) (given, real string, err error) {
	if given, err = filepath.Abs(path); err == nil {
		real, err = filepath.EvalSymlinks(given)
	}
	if err != nil {
		return "", "", xerrors.Errorf("%s: %v: %w", what, err, procmgr.ErrInvalid)
	}
	return given, real, nil
}

// below returns the path of an option. A relative one begins at Root, if there is one.
func (l *Local) below(path string) string {
	if l.root != nil && !filepath.IsAbs(path) {
		return filepath.Join(l.root.real, path)
	}
	return path
}

// rel returns a path, absolute and clean, as one below the tree; "." is the tree.
func (t *tree) rel(path string) (string, bool) {
	for _, base := range [...]string{t.real, t.given} {
		if within(base, path) {
			rel, err := filepath.Rel(base, path)
			return rel, err == nil
		}
	}
	return "", false
}

// within reports whether a clean path is a directory or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && filepath.IsLocal(rel)
}

// Close releases the directories that the Local has opened. No call may follow.
func (l *Local) Close() error {
	var all []error
	if l.root != nil {
		all = append(all, l.root.root.Close())
	}
	for _, t := range l.write {
		all = append(all, t.root.Close())
	}
	return errors.Join(all...)
}
