package toolset

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"strings"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/arguments"
	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/procmgr"
)

// begin reads the arguments of a call, and finds its manager. If ok is false, the report
// says why the call can do nothing. undone says what was not done if ctx has ended, or is
// "" if the call goes on then.
func (k *kit) begin(ctx context.Context, t *turn, c Call, args any, undone string) (m procmgr.Manager, res report, ok bool) {
	var without []string
	if !k.opts.Input {
		without = []string{"stdin", "screen"}
	}
	if err := arguments.Decode(c.Arguments, args, without...); err != nil {
		return nil, refuse("%s: %s", c.Name, words(err)), false
	}
	if ctx.Err() != nil && undone != "" {
		return nil, k.replayed(ctx, c, k.canceled(ctx, undone, nil, "")), false
	}
	if m, res, ok = k.manager(ctx); !ok {
		res = k.replayed(ctx, c, res)
	}
	t.manager = m
	return m, res, ok
}

// replayed returns the result of a call that has asked no manager. If it may have been made
// before, its command may have run.
func (k *kit) replayed(ctx context.Context, c Call, rep report) report {
	if c.IssuedAt.IsZero() || c.Name != k.names.execute || k.opts.ProcessID == nil {
		return rep
	}
	id := k.opts.ProcessID(ctx, c)
	if id == "" {
		return rep // the call before it, if there was one, had another random ID
	}
	return k.mayHaveRun(id, "the call may have been made before, and now "+rep.Error)
}

// failed returns the result of a request that the manager has refused for good, and
// false for any other error. id is the process that it was about, or "", and did the verb
// for the work that was not done.
func (k *kit) failed(c Call, id, did string, err error) (res report, ok bool) {
	switch {
	case id != "" && errors.Is(err, procmgr.ErrNotFound) && errors.Is(err, procmgr.ErrUnknown): // the process was there
		return refuse("process %s cannot be seen: %s. Do not simply run its command again: first check what it would have changed", id, words(err)), true
	case id != "" && errors.Is(err, procmgr.ErrNotFound):
		return refuse("there is no process %s; %s shows all processes", id, k.names.list), true
	case never(err):
		return denied(did, err), true
	case errors.Is(err, procmgr.ErrInvalid), errors.Is(err, procmgr.ErrClosed), errors.Is(err, procmgr.ErrConflict), errors.Is(err, procmgr.ErrLimit):
		return refuse("%s: %s; nothing was %s", c.Name, words(err), did), true
	}
	return report{}, false
}

// manager calls the resolver. If ok is false, the report says why.
func (k *kit) manager(ctx context.Context) (m procmgr.Manager, res report, ok bool) {
	m, err := k.resolve(ctx)
	switch {
	case errors.Is(err, errNoManager):
		return nil, refuse("there is no process manager for this chat, so nothing was done; tell the user"), false
	case err != nil && ctx.Err() != nil:
		return nil, k.canceled(ctx, "nothing was done", nil, ""), false
	case never(err):
		return nil, denied("done", err), false
	case err != nil:
		return nil, refuse("no process manager is available, nothing was done: %s. Try again, and tell the user if that fails too", words(err)), false
	}
	return m, report{}, true
}

var errNoManager = errors.New("there is no process manager for this chat")

// resolve calls the resolver. If it returns a nil Manager, the error is errNoManager.
func (k *kit) resolve(ctx context.Context) (procmgr.Manager, error) {
	m, err := k.managers(ctx)
	if err == nil && isNil(m) {
		return nil, errNoManager
	}
	return m, err
}

// isNil reports whether m is nil or a nil pointer. A Resolver returns the latter if it
// looks a chat up in a map of pointers.
func isNil(m procmgr.Manager) bool {
	v := reflect.ValueOf(m)
	return !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil()
}

// describeLimit is how long a manager may take to describe its machine. The managers of
// this module answer from memory, or with one request.
const describeLimit = 2 * time.Second

// machines has what is known of the machines that run a Set's commands. There may be
// several if a Resolver returns managers of several machines.
type machines struct {
	shell string    // Options.Shell
	asked sync.Once // for the call that Definitions makes

	mu   sync.Mutex // guards the fields below
	last machine    // the machine of the manager that was asked last
	// told is the machine in the description of execute, or nothing until one
	// is known. After that it does not change: if a description changes,
	// the provider's cache is lost.
	told machine
}

// A machine is what its manager says of it.
type machine struct {
	of procmgr.Manager // asked again each time if it cannot be compared
	procmgr.Description
	silent bool // it has no events, so there are no notices
}

// source returns a command in the language of the shell that runs the commands of m.
func (k *kit) source(ctx context.Context, m procmgr.Manager, command string) *script.Source {
	return &script.Source{Text: command, Shell: cmp.Or(k.opts.Shell, k.machines.describe(ctx, m).Shell)}
}

// describe returns what m says of its machine, as far as it can tell. It asks
// a manager only once while calls go to the same one.
func (ms *machines) describe(ctx context.Context, m procmgr.Manager) procmgr.Description {
	ms.mu.Lock()
	last, first := ms.last, ms.told.Shell == "" && ms.told.Sandbox == nil
	ms.mu.Unlock()
	if sameManager(last.of, m) {
		return last.Description
	}
	ctx, cancel := context.WithTimeout(ctx, describeLimit)
	defer cancel()
	var now machine
	err := survive(func() (err error) {
		now.Description, err = m.Describe(ctx)
		return err
	})
	if err != nil {
		now.Description = procmgr.Description{}
	}
	if err != nil && ctx.Err() != nil {
		return now.Description // the next call asks again
	}
	if first {
		now.silent = isSilent(ctx, m)
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	if first {
		ms.told = now
	}
	now.of = m
	ms.last = now
	return now.Description
}

// isSilent reports whether a manager has no events.
func isSilent(ctx context.Context, m procmgr.Manager) bool {
	return errors.Is(survive(func() error {
		_, err := m.Events(ctx, procmgr.EventsRequest{Limit: 1})
		return err
	}), errors.ErrUnsupported)
}

// survive asks a manager or a function of the host, which may panic.
func survive(ask func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = xerrors.Errorf("it panicked with %v: %w", p, errors.ErrUnsupported)
		}
	}()
	return ask()
}

// guard calls a function of the host, whose panic must cost no result.
func guard(call func()) {
	defer func() { _ = recover() }()
	call()
}

// aside asks a manager for a note, which a result can do without: for up to
// describeLimit, and whatever the manager does.
func aside(ctx context.Context, ask func(ctx context.Context)) {
	ctx, cancel := context.WithTimeout(ctx, describeLimit)
	defer cancel()
	guard(func() { ask(ctx) })
}

// forDefinitions returns the machine that the description of execute tells of, or
// nothing if none is known yet. The first call asks the resolver, as a call of a tool
// would, and waits for up to describeLimit. If the resolver does not return by
// then, it does not wait for it. The goroutine ends when the resolver returns.
func (ms *machines) forDefinitions(manager Resolver) machine {
	ms.asked.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), describeLimit)
		go func() {
			defer cancel()
			guard(func() { // if the resolver panics, the next call of a tool reports it
				if m, err := manager(ctx); err == nil {
					ms.describe(ctx, m)
				}
			})
		}()
		<-ctx.Done()
	})
	ms.mu.Lock()
	defer ms.mu.Unlock()
	told := ms.told
	told.Shell = cmp.Or(ms.shell, told.Shell)
	return told
}

// maxRulePaths is how many paths of a rule the description of execute names.
const maxRulePaths = 8

// spellRules returns the sentence by which a description tells the rules of a sandbox.
func spellRules(rules *procmgr.SandboxRules) string {
	if rules == nil {
		return ""
	}
	said := []string{"Commands may write only below " + wording.List(append([]string{"$TMPDIR"}, rules.Write...), maxRulePaths)}
	if len(rules.Protect) > 0 {
		said = append(said, "not to "+wording.List(rules.Protect, maxRulePaths))
	}
	if len(rules.Hide) > 0 {
		said = append(said, "cannot read "+wording.List(rules.Hide, maxRulePaths))
	}
	if rules.NoUnixSockets {
		said = append(said, "have no Unix sockets")
	}
	if rules.NoLoopback {
		said = append(said, "have no network, not even loopback, so no servers")
	} else if rules.NoNetwork {
		said = append(said, "have no network")
	}
	return strings.Join(said, "; ") + ". "
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
