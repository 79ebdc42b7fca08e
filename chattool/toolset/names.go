package toolset

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
