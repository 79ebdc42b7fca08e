package envpolicy

import (
	"maps"
	"slices"
	"strings"
)

// A fate is the decision of the policy about a variable of the host.
type fate uint8

const (
	added     fate = iota // the host does not have it
	inherited             // passed on
	withheld              // dropped as a secret, or by Exclude
	dropped               // dropped by Inherit or IncludeOnly
)

// A variable is one name of the new environment. If it is removed, it stays in
// its place, because a later step may set it again.
type variable struct {
	name     string // as in base, or else as first set
	entry    string // NAME=value, as it will be in the result
	original string // the entry in base
	nameLen  int    // length of the name in entry, which a later step may spell differently
	fate     fate
	present  bool
	filled   bool // withheld, and a value without a meaning takes its place
}

func (v *variable) value() string { return v.entry[v.nameLen+1:] }

// An environ is a list of variables with an index by name.
type environ struct {
	windows bool
	vars    []variable
	index   map[string]int // by key
	nbase   int            // how many of vars are from base
}

// newEnviron returns the variables of base, with room for more of them.
func newEnviron(goos string, base []string, more int) *environ {
	e := &environ{
		windows: goos == "windows",
		vars:    make([]variable, 0, len(base)+more),
		index:   make(map[string]int, len(base)+more),
	}
	for _, entry := range base {
		n := e.nameLen(entry)
		if n <= 0 || strings.IndexByte(entry, 0) >= 0 {
			continue
		}
		v := variable{name: entry[:n], entry: entry, original: entry, nameLen: n}
		key := e.key(v.name)
		if i, ok := e.index[key]; ok {
			e.vars[i] = v
			continue
		}
		e.index[key] = len(e.vars)
		e.vars = append(e.vars, v)
	}
	e.nbase = len(e.vars)
	return e
}

// nameLen returns the length of the name in an entry of base. If the result is
// not positive, the entry is malformed.
func (e *environ) nameLen(entry string) int {
	n := strings.IndexByte(entry, '=')
	if n == 0 && e.windows {
		// "=C:=C:\src": the first = is part of the name.
		n = strings.IndexByte(entry[1:], '=') + 1
		if n == 1 {
			return -1 // "==x" has no name even so
		}
	}
	return n
}

// key returns the same string for all names of one variable. Windows compares
// names without regard to case, and os/exec uses ToLower for that.
func (e *environ) key(name string) string {
	if e.windows {
		return strings.ToLower(name)
	}
	return name
}

// put sets a variable to entry. The first nameLen bytes of entry are the name.
func (e *environ) put(entry string, nameLen int) {
	name := entry[:nameLen]
	key := e.key(name)
	i, ok := e.index[key]
	if !ok {
		i = len(e.vars)
		e.index[key] = i
		e.vars = append(e.vars, variable{name: name})
	}
	v := &e.vars[i]
	v.entry, v.nameLen, v.present, v.filled = entry, nameLen, true, false
}

func (e *environ) putEntry(entry string) {
	e.put(entry, strings.IndexByte(entry, '='))
}

// putAll sets those variables of m that can be set. It goes by name: if two
// names are one variable on Windows, the same one wins each time.
func (e *environ) putAll(m map[string]string) {
	if len(m) == 0 {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		value := m[name]
		if name == "" || strings.ContainsAny(name, "=\x00") || strings.IndexByte(value, 0) >= 0 {
			continue
		}
		e.put(name+"="+value, len(name))
	}
}

func (e *environ) remove(name string) {
	if i, ok := e.index[e.key(name)]; ok {
		e.vars[i].present = false
	}
}

// result returns the entries that are left, and the report about those of base.
func (e *environ) result() ([]string, Report) {
	slices.SortFunc(e.vars[e.nbase:], func(a, b variable) int {
		return strings.Compare(a.entry[:a.nameLen], b.entry[:b.nameLen])
	})
	env := make([]string, 0, len(e.vars))
	var report Report
	for i := range e.vars {
		v := &e.vars[i]
		if v.present {
			env = append(env, v.entry)
		}
		switch {
		case v.fate == withheld && (v.filled || !v.present):
			report.Withheld = append(report.Withheld, v.name)
		case v.fate == inherited && v.present && v.value() != v.original[len(v.name)+1:]:
			report.Overridden = append(report.Overridden, v.name)
		}
	}
	slices.Sort(report.Withheld)
	slices.Sort(report.Overridden)
	return env, report
}
