package toolset

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// shellLimit is how long a manager may take to name its shell. The managers of
// this module answer from memory, or with one request.
const shellLimit = 2 * time.Second

// shells has the shells that run a Set's commands, as far as they are
// known. There may be several if a Resolver returns managers of several
// machines.
type shells struct {
	named string // Options.Shell; if it is set, no manager is asked

	known answer[procmgr.Description] // empty if the manager cannot tell

	mu sync.Mutex // guards described
	// described is the machine in the description of execute, or nothing until one
	// is known. After that it does not change: if a description changes,
	// the provider's cache is lost.
	described procmgr.Description
	quiet     bool      // it has no events, so nobody would be told of any
	asked     sync.Once // for the call that Definitions makes
}

// of returns the base name of the shell that runs the commands of m, or ""
// if nobody can tell.
func (s *shells) of(ctx context.Context, m procmgr.Manager) string {
	if s.named != "" {
		return s.named
	}
	return s.description(ctx, m).Shell
}

// description returns what m says of its machine, as far as it can tell. It asks
// a manager only once while calls go to the same one.
func (s *shells) description(ctx context.Context, m procmgr.Manager) procmgr.Description {
	if d, ok := s.known.from(m); ok {
		return d
	}
	ctx, cancel := context.WithTimeout(ctx, shellLimit)
	defer cancel()
	d, err := describe(ctx, m)
	if err != nil && ctx.Err() != nil {
		return procmgr.Description{} // the next call asks again
	}
	s.known.keep(m, d)
	s.mu.Lock()
	first := s.described.Shell == "" && s.described.Sandbox == nil
	s.mu.Unlock()
	if !first {
		return d
	}
	quiet := hasNoEvents(ctx, m)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.described, s.quiet = d, quiet
	return d
}

// hasNoEvents asks a manager that may panic whether it has events.
func hasNoEvents(ctx context.Context, m procmgr.Manager) (none bool) {
	defer func() { none = recover() != nil || none }()
	_, err := m.Events(ctx, procmgr.EventsRequest{Limit: 1})
	return errors.Is(err, errors.ErrUnsupported)
}

// describe asks a manager that may panic for its description.
func describe(ctx context.Context, m procmgr.Manager) (d procmgr.Description, err error) {
	defer func() {
		if p := recover(); p != nil {
			d, err = procmgr.Description{}, xerrors.Errorf("it panicked: %w", errors.ErrUnsupported)
		}
	}()
	return m.Describe(ctx)
}

// describe returns the machine that the description of execute tells of, or nothing
// if none is known yet, and whether it has no events. The first call asks the resolver, as a call of a tool
// would, and waits for up to shellLimit. If the resolver does not return by
// then, describe does not wait for it. The goroutine ends when the
// resolver returns.
func (s *shells) describe(manager Resolver) (d procmgr.Description, quiet bool) {
	if manager == nil {
		return procmgr.Description{Shell: s.named}, false
	}
	s.asked.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), shellLimit)
		done := make(chan struct{})
		go func() {
			defer cancel()
			defer close(done)
			defer func() { _ = recover() }() // if the resolver panics, the next call of a tool reports it
			if m, err := manager(ctx); err == nil && m != nil {
				s.description(ctx, m)
			}
		}()
		select {
		case <-done:
		case <-ctx.Done():
		}
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	d = s.described
	d.Shell = cmp.Or(s.named, d.Shell)
	return d, s.quiet
}

// spellRules returns the sentence by which a description tells the rules of a sandbox.
func spellRules(rules *procmgr.SandboxRules) string {
	if rules == nil {
		return ""
	}
	said := "Commands may write in $TMPDIR only"
	switch n := len(rules.Write); {
	case n == 1:
		said = "Commands may write below " + wording.Odd(rules.Write[0]) + " and in $TMPDIR only"
	case n > 1:
		said = "Commands may write below " + listed(rules.Write, " and ") + ", and in $TMPDIR only"
	}
	if len(rules.Protect) > 0 {
		said += ", but not to " + listed(rules.Protect, " or ")
	}
	var besides []string
	if len(rules.Hide) > 0 {
		besides = append(besides, "cannot read "+listed(rules.Hide, " or "))
	}
	if rules.NoUnixSockets {
		besides = append(besides, "have no Unix sockets")
	}
	if rules.NoNetwork {
		besides = append(besides, "have no network")
	}
	for i, words := range besides {
		if said += ", "; i == len(besides)-1 {
			said += "and "
		}
		said += words
	}
	return said + ". "
}

// maxRulePaths is how many paths of a rule the description of execute names.
const maxRulePaths = 8

// listed names some paths of a list. last stands before the last one.
func listed(paths []string, last string) string {
	var named []string
	for _, p := range paths[:min(len(paths), maxRulePaths)] {
		named = append(named, wording.Odd(p))
	}
	if more := len(paths) - len(named); more > 0 {
		return strings.Join(named, ", ") + fmt.Sprintf(" and %d more", more)
	}
	n := len(named) - 1
	if n == 0 {
		return named[0]
	}
	return strings.Join(named[:n], ", ") + last + named[n]
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
