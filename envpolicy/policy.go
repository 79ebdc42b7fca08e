package envpolicy

import (
	"fmt"
	"runtime"
)

// A Policy says which environment a child process gets. The zero value inherits
// every variable but secrets, and keeps programs from waiting for a person.
//
// The steps come in this order, and each works on the result of the steps
// before it: Inherit, secrets, Exclude, IncludeOnly, the variables of
// [NonInteractive] (unless Interactive), Set, Unset, and last the variables of
// the request. So a variable that the host sets is never withheld, and a
// request can set any variable.
//
// Apply only reads a Policy. Several goroutines may call it at once, as long as
// nobody changes the slices and maps of the Policy.
type Policy struct {
	// Inherit is how much of the host's environment to begin with. The zero
	// value is [InheritAll].
	Inherit Inherit

	// KeepSecrets keeps inherited variables that look like secrets, by their
	// names or by their values. By default they are withheld.
	KeepSecrets bool

	// Allow has patterns of names to keep, even if they look like secrets, by
	// name or by value, or match Exclude. It does not bring back a variable
	// that Inherit or IncludeOnly has dropped.
	Allow []string

	// Exclude has patterns of inherited names to drop.
	Exclude []string

	// IncludeOnly has patterns of inherited names. If it is not empty, names
	// that match none of its patterns are dropped.
	IncludeOnly []string

	// Set has variables that the host sets. They win over inherited variables
	// and over those of NonInteractive.
	Set map[string]string

	// Unset has names, not patterns, of variables to remove: such a variable is
	// then absent, not empty. A request may set it again.
	Unset []string

	// Interactive leaves prompts, pagers and editors alone: the variables of
	// NonInteractive are not set.
	Interactive bool
}

// Inherit is how much of the host's environment a [Policy] begins with. A value
// other than [InheritAll] and [InheritCore] inherits nothing.
type Inherit int

const (
	InheritAll  Inherit = iota // the whole environment
	InheritCore                // the variables of CoreNames
	InheritNone                // nothing
)

// String returns "all", "core" or "none".
func (i Inherit) String() string {
	switch i {
	case InheritAll:
		return "all"
	case InheritCore:
		return "core"
	case InheritNone:
		return "none"
	}
	return fmt.Sprintf("Inherit(%d)", int(i))
}

// A Report lists the changes of [Policy.Apply] to inherited variables. It has names
// and never values, so you may log it and show it to a model. Each list is
// sorted and has each name once, spelled as in the host's environment. An empty
// list is nil.
type Report struct {
	// Withheld are the names that were dropped as secrets or by Exclude, and
	// that nothing has set since. A failing command may have needed them. It
	// does not have the names that only Inherit, IncludeOnly or Unset removed.
	// It does have the name of a git setting that was withheld, although
	// another setting has taken its place.
	Withheld []string

	// Overridden are the inherited names that have another value now: by
	// NonInteractive, by Set, by the request, or because they are half of a git
	// setting whose other half was withheld.
	Overridden []string
}

// Apply returns the environment of a child, in the form of [os/exec.Cmd].Env,
// and a report of the changes. base is the host's environment, usually
// [os.Environ]. request has the variables for this one command, and may be nil.
//
// Each entry is NAME=value, and each name comes once. Variables keep the order
// of base. Variables that are not in base follow, sorted by name. If base has a
// name several times, the last entry counts, as in os/exec.
//
// Entries that cannot be environment variables are left out: in base, entries
// without a = or a name, and entries with a NUL byte; in Set and the request,
// names that are empty or contain a = or a NUL byte, and values with a NUL
// byte. The report does not have them. If you want to fail instead, check them
// before the call.
//
// The result is never nil, because os/exec takes nil for "inherit everything".
// The caller may change the result: Apply neither writes to base nor keeps it.
func (p Policy) Apply(base []string, request map[string]string) (env []string, report Report) {
	return p.apply(runtime.GOOS, base, request)
}

// apply is Apply on the given platform, a value of [runtime.GOOS].
func (p *Policy) apply(goos string, base []string, request map[string]string) ([]string, Report) {
	e := newEnviron(goos, base, len(nonInteractive)+len(p.Set)+len(request))
	core := coreNames(goos)
	broken := false // half of a git setting may be missing
	for i := range e.vars {
		v := &e.vars[i]
		v.fate = p.judge(core, v.name, v.value())
		v.present = v.fate == inherited
		broken = broken || v.fate == withheld && isGitConfig(v.name)
	}
	if broken {
		e.fillGitConfig()
	}
	if !p.Interactive {
		for _, entry := range nonInteractive {
			e.putEntry(entry)
		}
	}
	e.putAll(p.Set)
	for _, name := range p.Unset {
		e.remove(name)
	}
	e.putAll(request)
	return e.result()
}

// judge decides the fate of an inherited variable.
func (p *Policy) judge(core []string, name, value string) fate {
	switch p.Inherit {
	case InheritAll:
	case InheritCore:
		if !matchAny(core, name) {
			return dropped
		}
	default:
		return dropped
	}
	// Allow comes last, because it matters for few variables.
	unwanted := !p.KeepSecrets && secret(name, value) || matchAny(p.Exclude, name)
	if unwanted && !matchAny(p.Allow, name) {
		return withheld
	}
	if len(p.IncludeOnly) > 0 && !matchAny(p.IncludeOnly, name) {
		return dropped
	}
	return inherited
}
