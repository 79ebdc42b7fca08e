package toolset

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"golang.org/x/xerrors"
)

// shellLimit is how long a manager may take to name its shell. The managers of
// this module answer from memory, or with one request.
const shellLimit = 2 * time.Second

// knownShells has the shells that run a Set's commands, as far as they are
// known. There may be several if a Resolver returns managers of several
// machines.
type knownShells struct {
	mu sync.Mutex // guards described, of and name
	// described is the shell in the description of execute, or "" until one
	// is known. After that it does not change: if a description changes,
	// the provider's cache is lost.
	described string
	// of is the manager that was asked last. name is its answer, or "" if
	// it cannot tell.
	of   procmgr.Manager
	name string

	asked sync.Once // for the call that Definitions makes
}

// shell returns the base name of the shell that runs the commands of m, or ""
// if nobody can tell. It asks a manager only once while calls go to the same
// one.
func (s *Set) shell(ctx context.Context, m procmgr.Manager) string {
	if s.opts.Shell != "" {
		return s.opts.Shell
	}
	comparable := reflect.ValueOf(m).Comparable()
	s.shells.mu.Lock()
	if comparable && s.shells.of == m {
		defer s.shells.mu.Unlock()
		return s.shells.name
	}
	s.shells.mu.Unlock()

	ctx, cancel := context.WithTimeout(ctx, shellLimit)
	defer cancel()
	name, err := askShell(ctx, m)
	if err != nil && ctx.Err() != nil {
		return "" // the next call asks again
	}
	s.shells.mu.Lock()
	defer s.shells.mu.Unlock()
	if comparable {
		s.shells.of, s.shells.name = m, name
	}
	if s.shells.described == "" {
		s.shells.described = name
	}
	return name
}

// askShell asks a manager that may panic for its shell.
func askShell(ctx context.Context, m procmgr.Manager) (name string, err error) {
	defer func() {
		if p := recover(); p != nil {
			name, err = "", xerrors.Errorf("it panicked: %w", errors.ErrUnsupported)
		}
	}()
	d, err := m.Describe(ctx)
	return d.Shell, err
}

// describedShell returns the shell that the description of execute names, or ""
// if none is known yet. The first call asks the resolver, as a call of a tool
// would, and waits for up to shellLimit. If the resolver does not return by
// then, describedShell does not wait for it. The goroutine ends when the
// resolver returns.
func (s *Set) describedShell() string {
	if s.opts.Shell != "" {
		return s.opts.Shell
	}
	s.shells.asked.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), shellLimit)
		done := make(chan struct{})
		go func() {
			defer cancel()
			defer close(done)
			defer func() { _ = recover() }() // if the resolver panics, the next call of a tool reports it
			if m, _, ok := s.manager(ctx); ok {
				s.shell(ctx, m)
			}
		}()
		select {
		case <-done:
		case <-ctx.Done():
		}
	})
	s.shells.mu.Lock()
	defer s.shells.mu.Unlock()
	return s.shells.described
}

// spellShell returns the words by which a description names a shell.
func spellShell(name string) string {
	switch name {
	case "":
		return "bash -c if there is a bash, else sh -c"
	case "sh", "dash", "ash":
		return name + " -c, not bash"
	case "cmd", "powershell", "pwsh":
		return name
	}
	return name + " -c"
}
