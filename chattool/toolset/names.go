package toolset

// names are the names by which a model knows the tools. input is "" if there is
// no such tool.
type names struct{ execute, output, list, signal, input string }

// ownNames are this package's names, and the keys of Options.Names.
var ownNames = names{execute: "execute", output: "process_output", list: "process_list", signal: "process_signal", input: "process_input"}
