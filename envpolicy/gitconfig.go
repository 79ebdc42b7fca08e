package envpolicy

import (
	"strconv"
	"strings"
)

// These variables give settings to git: the number of pairs, and pair n.
const (
	gitCount = "GIT_CONFIG_COUNT"
	gitKey   = "GIT_CONFIG_KEY_"
	gitValue = "GIT_CONFIG_VALUE_"

	// withheldKey is the setting that takes the place of a withheld one. Git
	// does not know this name and ignores it. It appears in a list of git's
	// settings.
	withheldKey = "toolproc.withheld"
)

// fillGitConfig puts a setting without a meaning in the place of each git
// setting of which half was withheld. Every git command fails if the count
// promises a pair that is not whole. The other settings keep their numbers, so
// that a caller who adds a setting can go on counting.
func (e *environ) fillGitConfig() {
	count := e.inherits(gitCount)
	if count == nil {
		return // git reads none of them
	}
	n, err := strconv.Atoi(count.value())
	if err != nil {
		return
	}
	for i := range e.nbase {
		v := &e.vars[i]
		if v.fate != withheld {
			continue
		}
		number, isKey := e.cutName(v.name, gitKey)
		if !isKey {
			number, _ = e.cutName(v.name, gitValue)
		}
		if at, err := strconv.Atoi(number); err != nil || at < 0 || at >= n || strconv.Itoa(at) != number {
			continue
		}
		if isKey {
			v.fill(withheldKey)
			if value := e.find(gitValue + number); value != nil && value.fate == withheld {
				value.fill("")
			}
		} else if key := e.inherits(gitKey + number); key != nil {
			what := key.value() // shows in a list of git's settings which one was withheld
			if secretValue(v.name, what) {
				what = ""
			}
			v.fill(what)
			key.fill(withheldKey)
		}
	}
}

// inherits returns the variable of base with a name if it is passed on, or else
// nil.
func (e *environ) inherits(name string) *variable {
	if v := e.find(name); v != nil && v.fate == inherited {
		return v
	}
	return nil
}

// find returns the variable with a name, or nil.
func (e *environ) find(name string) *variable {
	if i, ok := e.index[e.key(name)]; ok {
		return &e.vars[i]
	}
	return nil
}

// cutName is strings.CutPrefix for names.
func (e *environ) cutName(name, prefix string) (rest string, ok bool) {
	if len(name) < len(prefix) || e.key(name[:len(prefix)]) != e.key(prefix) {
		return "", false
	}
	return name[len(prefix):], true
}

// fill gives a variable of base a substitute for its value.
func (v *variable) fill(value string) {
	v.entry, v.nameLen = v.name+"="+value, len(v.name)
	v.present, v.filled = true, v.fate == withheld
}

// isGitConfig reports whether a name may belong to a pair.
func isGitConfig(name string) bool {
	return len(name) > len(gitKey) && strings.EqualFold(name[:len("GIT_CONFIG_")], "GIT_CONFIG_")
}
