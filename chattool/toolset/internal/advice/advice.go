// Package advice writes notes on the result of a command, so that a model
// neither misreads the result nor makes a needless call.
package advice

// maxNotes is how many notes on its command a result has. A model would not read
// more.
const maxNotes = 2

// Notes returns the notes on a result, at most two, the most important ones
// first.
func Notes(r Result) []string {
	var notes []string
	for _, note := range []func() string{r.stopped, r.bashism, r.dialect, r.withheld, r.sandboxed, r.selfKill, r.prompt, r.editor, r.unedited, r.pipeline, r.exitCode, r.waiting, r.dump} {
		if words := note(); words != "" {
			notes = append(notes, words)
		}
		if len(notes) == maxNotes {
			break
		}
	}
	return notes
}
