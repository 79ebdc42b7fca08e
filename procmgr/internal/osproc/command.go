package osproc

// A Command says what to run.
type Command struct {
	// Argv is the program, which is looked up on PATH, and its arguments.
	Argv []string
	// Dir is the directory to run in, absolute.
	Dir string
	// Env is the whole environment, but for the cookie that Start adds.
	Env []string
	// Output gets what the tree prints, stdout and stderr in one.
	Output Sink
}

// A Sink takes what a tree prints, by one goroutine at a time.
type Sink interface {
	// Add takes the next bytes, which are valid during the call alone. While
	// it blocks, nobody reads what the tree prints.
	Add(p []byte)
	// End is called once, after the last Add.
	End()
}
