package osproc

// A Command is a command to run, and how to run it.
type Command struct {
	// Argv has the program, which is looked up on PATH, and its arguments.
	Argv []string
	// Dir is the directory to run in, an absolute path.
	Dir string
	// Env is the whole environment. Start adds only the cookie.
	Env []string
	// Stdin is the leader's stdin, and Size the size of its terminal.
	Stdin Stdin
	Size  Size
	// Output gets everything that the tree prints: stdout and stderr together.
	Output Sink
}

// A Sink takes the output of a tree. One goroutine at a time calls it.
type Sink interface {
	// Add takes the next bytes. They are valid only during the call. While Add
	// blocks, nobody reads the output of the tree.
	Add(p []byte)
	// End is called once, after the last Add.
	End()
}
