package toolset

// What the external tests need to see of the scripts.

// MaxScript is the longest command that is parsed, in bytes.
const MaxScript = maxScript

// Parses reports whether a command is parsed at all.
func Parses(command string) bool { return parse(command) != nil }

// Promote returns a command without its trailing &, where it is run in the
// background for it.
func Promote(command string) (string, bool) {
	if !mayBackground(command) {
		return "", false
	}
	return parse(command).promote(false)
}

// PromoteUnfiltered is Promote without the look that spares the parser.
func PromoteUnfiltered(command string) (string, bool) { return parse(command).promote(false) }

// DumpsFiles reports whether a command only prints files.
func DumpsFiles(command string) bool {
	c := source{text: command}
	return c.dumpsFiles()
}

// Fold returns a text as a model reads it; cut says that it misses its middle.
func Fold(text string, cut bool) string { return fold(text, cut) }

// Encode returns the JSON of a result with an output.
func Encode(output string) string { return encode(report{Output: &output}) }
