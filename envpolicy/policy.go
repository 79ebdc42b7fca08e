package envpolicy

import (
	"fmt"
	"runtime"
)

// A Policy says which environment a child process gets. The zero value inherits
// everything but secrets and keeps programs from waiting for a person.
//
// The fields are applied in this order, each over the ones before it: Inherit,
// secrets, Exclude, IncludeOnly, the variables of [NonInteractive] (unless
// Interactive), Set, Unset, and last the variables of the request. So what the
// host sets is never withheld, and a request can set anything.
//
// Apply only reads a Policy. It may be called from several goroutines at once,
// as long as nobody changes what the fields refer to.
type Policy struct {
	// Inherit is how much of the host's environment to begin with. The zero
	// value is All.
	Inherit Inherit

	// KeepSecrets keeps inherited variables that look like secrets, by their
	// names or by their values. By default they are withheld.
	KeepSecrets bool

	// Allow has patterns of names that are kept although they look like
	// secrets, by name or by value, or match Exclude. It brings back nothing
	// that Inherit or IncludeOnly has dropped.
	Allow []string

	// Exclude has patterns of inherited names to drop.
	Exclude []string

	// IncludeOnly has patterns of inherited names. If there are any, what
	// matches none of them is dropped.
	IncludeOnly []string

	// Set has variables that the host sets, over whatever is inherited and over
	// those of NonInteractive.
	Set map[string]string

	// Unset has names, not patterns, to remove: the variable is absent then,
	// not empty. A request may set it again.
	Unset []string

	// Interactive leaves prompts, pagers and editors alone: the variables of
	// NonInteractive are not set.
	Interactive bool
}

// Inherit is how much of the host's environment a [Policy] begins with. A value
// other than All and Core inherits nothing.
type Inherit int

const (
	All  Inherit = iota // the whole environment
	Core                // what CoreNames says
	None                // nothing
)

// String returns "all", "core" or "none".
func (i Inherit) String() string {
	switch i {
	case All:
		return "all"
	case Core:
		return "core"
	case None:
		return "none"
	}
	return fmt.Sprintf("Inherit(%d)", int(i))
}

// A Report says what [Policy.Apply] did to inherited variables. It has names,
// never values, so that it may be logged and shown to a model. Each list is
// sorted, has a name once, spelled as in the host's environment, and is nil if
// there is none.
type Report struct {
	// Withheld are the names that were dropped as secrets or by Exclude, and
	// that nothing has set since. A failing command may have wanted them. What
	// Inherit, IncludeOnly or Unset alone removed is not among them. A setting
	// of git's is among them although something else has taken its place.
	Withheld []string

	// Overridden are the inherited names that have another value now, by
	// NonInteractive, by Set or by the request, or since they are half of one of
	// git's settings of which the other half was withheld.
	Overridden []string
}

// Apply returns the environment of a child, in the form that [os/exec.Cmd] takes
// it, and a report of what has changed. Base is the host's environment, usually
// [os.Environ]; request has the variables that were asked for with this one
// command, and may be nil.
//
// Each entry is NAME=value, and each name comes once. Variables keep the order
// of base; those that are not in base follow, sorted by name. Where base has a
// name several times, the last one counts, as it does in os/exec.
//
// What cannot be an environment variable is left out: in base, entries without
// a = or a name, and those with a NUL byte; in Set and the request, names that
// are empty or have a = or a NUL byte in them, and values with a NUL byte. None
// of these is reported, so a caller who would rather fail checks beforehand.
//
// The result is never nil, so that an empty one is not taken for "inherit
// everything" by os/exec. It is the caller's to change: base is neither written
// to nor kept.
func (p Policy) Apply(base []string, request map[string]string) (env []string, report Report) {
	return p.apply(runtime.GOOS, base, request)
}

// apply is Apply on the given platform, a value of [runtime.GOOS].
func (p *Policy) apply(goos string, base []string, request map[string]string) ([]string, Report) {
	e := newEnviron(goos, base, len(nonInteractive)+len(p.Set)+len(request))
	core := coreNames(goos)
	broken := false // among git's settings may be half of one
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

// judge says what becomes of an inherited variable.
func (p *Policy) judge(core []string, name, value string) fate {
	switch p.Inherit {
	case All:
	case Core:
		if !matchAny(core, name) {
			return dropped
		}
	default:
		return dropped
	}
	// Allow is asked last: it has something to say about few variables.
	unwanted := !p.KeepSecrets && secret(name, value) || matchAny(p.Exclude, name)
	if unwanted && !matchAny(p.Allow, name) {
		return withheld
	}
	if len(p.IncludeOnly) > 0 && !matchAny(p.IncludeOnly, name) {
		return dropped
	}
	return inherited
}
