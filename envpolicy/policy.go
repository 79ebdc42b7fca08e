package envpolicy

import (
	"maps"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// A Policy says which environment a child process gets. The zero value inherits
// every variable but secrets, and keeps programs from waiting for a person.
//
// The fields are in the order in which they apply. Apply only reads a Policy, so
// several goroutines may call it at once.
type Policy struct {
	// IncludeOnly has patterns of the names to inherit; other variables are
	// dropped. nil inherits all, and an empty slice none. [CoreNames] is a list
	// to begin with.
	IncludeOnly []string

	// Exclude has patterns of inherited names to withhold.
	Exclude []string

	// Allow has patterns of names to inherit although they look like secrets, by
	// name or by value. "*" allows all.
	Allow []string

	// Interactive leaves prompts, pagers and editors alone: the variables of
	// [NonInteractive] are not set.
	Interactive bool

	// Set has variables that the host sets. They win over inherited variables and over
	// the variables of NonInteractive, and may be secrets. Variables that the system
	// cannot represent are ignored: an empty name, a name with a =, and a name or a
	// value with a NUL byte.
	Set map[string]string
}

// Apply returns the environment of a child, in the form of [os/exec.Cmd].Env, and
// the sorted names of the variables that it has withheld: those in base that look
// like secrets or match Exclude, and that neither NonInteractive nor Set has set.
// base is the host's environment, usually [os.Environ].
//
// Inherited variables keep the order of base, and the others follow, sorted by
// name. Each name comes once. If base has a name several times, the last entry
// counts, as in os/exec. Malformed entries are left out. env is never nil, because
// os/exec takes nil for "inherit everything".
//
// Some variables are true of the host's own process alone and are never
// inherited: descriptors and sockets that systemd, Node.js and make have handed to
// it, and the state of the shell that started it, such as OLDPWD.
//
// Git fails if one of GIT_CONFIG_COUNT, GIT_CONFIG_KEY_0, GIT_CONFIG_VALUE_0 and so
// on is missing. If one of them is withheld, so is GIT_CONFIG_COUNT, and git reads
// none of these settings.
func (p Policy) Apply(base []string) (env, withheld []string) {
	return p.apply(runtime.GOOS, base)
}

// apply is Apply on the given platform, a value of [runtime.GOOS].
func (p *Policy) apply(goos string, base []string) (env, withheld []string) {
	only, exclude, allow := compile(p.IncludeOnly), compile(p.Exclude), compile(p.Allow)
	added := p.added(goos)
	last := make(map[string]int, len(base)) // where the last entry of a variable is
	for i, entry := range base {
		name, _ := split(goos, entry)
		last[fold(goos, name)] = i
	}
	env = make([]string, 0, len(base)+len(added))
	for i, entry := range base {
		name, value := split(goos, entry)
		if _, ok := added[fold(goos, name)]; ok || name == "" || last[fold(goos, name)] != i {
			continue
		}
		switch {
		case p.IncludeOnly != nil && !only.MatchString(name), isHostState(name, value):
		case exclude.MatchString(name), IsSecret(name, value) && !allow.MatchString(name):
			withheld = append(withheld, name)
		default:
			env = append(env, entry)
		}
	}
	if slices.ContainsFunc(withheld, isGitSetting) {
		env = slices.DeleteFunc(env, func(entry string) bool {
			name, _ := split(goos, entry)
			count := strings.EqualFold(name, "GIT_CONFIG_COUNT")
			if count {
				withheld = append(withheld, name)
			}
			return count
		})
	}
	slices.Sort(withheld)
	for _, key := range slices.Sorted(maps.Keys(added)) {
		env = append(env, added[key])
	}
	return env, withheld
}

// added returns the entries that do not come from the host's environment, by their
// folded names.
func (p *Policy) added(goos string) map[string]string {
	added := make(map[string]string, len(nonInteractive)+len(p.Set))
	if !p.Interactive {
		for name, value := range nonInteractive {
			added[fold(goos, name)] = name + "=" + value
		}
	}
	for _, name := range slices.Sorted(maps.Keys(p.Set)) { // sorted, so that the same one of PATH and Path always wins
		entry := name + "=" + p.Set[name]
		if name != "" && !strings.Contains(name, "=") && !strings.Contains(entry, "\x00") {
			added[fold(goos, name)] = entry
		}
	}
	return added
}

// split returns the name and the value of an entry. The name of a malformed entry
// is empty.
func split(goos, entry string) (name, value string) {
	n := strings.IndexByte(entry, '=')
	if n == 0 && goos == "windows" {
		n = strings.IndexByte(entry[1:], '=') + 1 // "=C:=C:\src": the first = is part of the name
	}
	if n <= 0 || entry[:n] == "=" || strings.Contains(entry, "\x00") {
		return "", ""
	}
	return entry[:n], entry[n+1:]
}

// fold returns the same string for all names of one variable.
func fold(goos, name string) string {
	if goos == "windows" {
		return strings.ToLower(name)
	}
	return name
}

// wildcards turns the quoted wildcards of a pattern into a regular expression.
var wildcards = strings.NewReplacer(`\*`, `.*`, `\?`, `.`)

// compile returns an expression that matches the names that one of the patterns
// matches. Without patterns, it matches no name, because no name is empty.
func compile(patterns []string) *regexp.Regexp {
	quoted := make([]string, len(patterns))
	for i, p := range patterns {
		quoted[i] = wildcards.Replace(regexp.QuoteMeta(strings.ToValidUTF8(p, "\ufffd")))
	}
	return regexp.MustCompile(`(?is)^(?:` + strings.Join(quoted, "|") + `)$`)
}

func isGitSetting(name string) bool {
	name = strings.ToUpper(name)
	return strings.HasPrefix(name, "GIT_CONFIG_KEY_") || strings.HasPrefix(name, "GIT_CONFIG_VALUE_")
}

// isHostState reports whether a variable describes the host's own process. A
// command has none of the descriptors that the host has inherited.
func isHostState(name, value string) bool {
	switch name {
	case "LISTEN_FDS", "LISTEN_FDNAMES", "LISTEN_PID", // sockets of systemd
		"NOTIFY_SOCKET", // a command would tell systemd that the host is ready, or ends
		"NODE_CHANNEL_FD", "NODE_CHANNEL_SERIALIZATION_MODE", "NODE_UNIQUE_ID",
		"WAYLAND_SOCKET":
		return true
	case "OLDPWD", "CDPATH", "SHELLOPTS", "BASHOPTS":
		// With them "cd -" leaves the command's directory for one that it has never
		// been in, "X=$(cd w && pwd)" has two lines, and bash has options that the
		// command does not set.
		return true
	case "MAKEFLAGS", "MFLAGS", "CARGO_MAKEFLAGS":
		// Without the jobserver's descriptors, each make in a command would warn, and
		// run one job at a time.
		return strings.Contains(value, "--jobserver")
	}
	return false
}
