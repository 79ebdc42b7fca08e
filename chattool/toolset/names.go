package toolset

import (
	"maps"
	"slices"
	"strings"

	"golang.org/x/xerrors"
)

// names are the names by which a model knows the tools. input is "" if there is
// no such tool.
type names struct{ execute, output, list, signal, input string }

// ownNames are this package's names, and the keys of Options.Names.
var ownNames = names{execute: "execute", output: "process_output", list: "process_list", signal: "process_signal"}

// ownInput is this package's name of the fifth tool.
const ownInput = "process_input"

// all returns the names in the order of Definitions.
func (n names) all() []string {
	all := []string{n.execute, n.output, n.list, n.signal}
	if n.input != "" {
		all = append(all, n.input)
	}
	return all
}

// rename returns the names after the host's changes. The error says which of
// the changes is impossible.
func (n names) rename(to map[string]string) (names, error) {
	renamed := n
	for _, own := range slices.Sorted(maps.Keys(to)) {
		place := map[string]*string{
			n.execute: &renamed.execute, n.output: &renamed.output, n.list: &renamed.list, n.signal: &renamed.signal, n.input: &renamed.input,
		}[own]
		switch {
		case place == nil || own == "":
			return n, xerrors.Errorf("it has %.60q, but the tools are %s", own, strings.Join(n.all(), ", "))
		case to[own] == "":
			return n, xerrors.Errorf("it has no name for %s", own)
		}
		*place = to[own]
	}
	all := renamed.all()
	for i, name := range all {
		if slices.Contains(all[:i], name) {
			return n, xerrors.Errorf("it calls two tools %.60q", name)
		}
	}
	return renamed, nil
}
