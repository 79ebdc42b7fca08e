package procmgr

// Changes says how the output of a process differs from that of an earlier one,
// line by line, as it was kept: both are masked, and plain text unless the manager
// keeps them as they were printed.
//
// Two kinds of times are taken as equal, and nothing else: a date with a time of day, or
// a time of day, with which a line begins, if it moved by as much as the starts of the
// two processes are apart; and the duration with which a line of a test runner ends, if
// it hardly moved. A proclocal.Local takes them as equal in the forms of docs/output.md.
// Any other number, such as a count, a size, a port or a pid, may be the answer, so it
// differs.
type Changes struct {
	// Same reports that every line is the same, in the same order, but for times, and
	// Times counts the lines that are the same but for a time.
	Same  bool `json:"same,omitempty"`
	Times int  `json:"times,omitempty"`
	// Added and Removed count the lines that only this output and only the earlier
	// one has, and Lines all those of this one. A line that has changed counts as
	// one of each.
	Added   int `json:"added,omitempty"`
	Removed int `json:"removed,omitempty"`
	Lines   int `json:"lines,omitempty"`
	// Text has the changes as hunks with two lines of context, as diff -U2 writes
	// them, without the names of files. It is valid UTF-8 and within
	// OutputRequest.Limit; of a longer line it has the part around the change, with
	// … for the rest. If more than half of the lines differ in order and fewer as a
	// set, as with tests that run side by side, it has only the lines that are more
	// or fewer than before.
	//
	// A line of an output stands behind a blank, a + or a -. So a program can print
	// no line that looks like the @@ of a hunk, nor like the ( with which a line
	// begins that says what Text is or leaves out.
	Text string `json:"text,omitempty"`
}
