package arguments

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/xerrors"
)

// Rename changes the names of tools as a host wants them: to has new names by the old
// ones. A name that is "" is no tool's. If a change is impossible the error says which,
// and no name changes.
func Rename(to map[string]string, names ...*string) error {
	byName := make(map[string]*string)
	var all []string
	for _, name := range names {
		if *name != "" {
			byName[*name] = name
			all = append(all, *name)
		}
	}
	for _, own := range slices.Sorted(maps.Keys(to)) {
		switch {
		case byName[own] == nil:
			return xerrors.Errorf("it has %.60q, but the tools are %s", own, strings.Join(all, ", "))
		case to[own] == "":
			return xerrors.Errorf("it has no name for %s", own)
		}
	}
	var renamed []string
	for _, own := range all {
		name := own
		if host, ok := to[own]; ok {
			name = host
		}
		if slices.Contains(renamed, name) {
			return xerrors.Errorf("it calls two tools %.60q", name)
		}
		renamed = append(renamed, name)
	}
	for i, own := range all {
		*byName[own] = renamed[i]
	}
	return nil
}
