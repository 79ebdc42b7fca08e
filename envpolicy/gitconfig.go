package envpolicy

import (
	"strconv"
	"strings"
)

// The variables by which git gets settings: a number of pairs, and pair n.
const (
	gitCount = "GIT_CONFIG_COUNT"
	gitKey   = "GIT_CONFIG_KEY_"
	gitValue = "GIT_CONFIG_VALUE_"

	// withheldKey is the setting in place of one that was withheld. Git knows
	// none of this name and passes it over; who lists git's settings sees it.
	withheldKey = "toolproc.withheld"
)

// fillGitConfig puts a setting that means nothing in the place of each one of
// git's of which half was withheld. Every git command fails if the count promises
// a pair that is not whole. The others keep their numbers, so that a caller who
// sets one more can go on counting.
func (e *environ) fillGitConfig() {
	count := e.inherits(gitCount)
	if count == nil {
		return // git looks at none of them
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
			what := key.value() // tells who lists git's settings which one it was
			if secretValue(v.name, what) {
				what = ""
			}
			v.fill(what)
			key.fill(withheldKey)
		}
	}
}

// inherits returns the variable of base with a name, or nil unless it is passed
// on.
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

// fill sets a variable of base to what stands in for its value.
func (v *variable) fill(value string) {
	v.entry, v.nameLen = v.name+"="+value, len(v.name)
	v.present, v.filled = true, v.fate == withheld
}

// isGitConfig reports whether a name may be one of a pair.
func isGitConfig(name string) bool {
	return len(name) > len(gitKey) && strings.EqualFold(name[:len("GIT_CONFIG_")], "GIT_CONFIG_")
}
