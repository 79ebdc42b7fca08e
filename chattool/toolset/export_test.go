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
	r := run{}
	r.req.Command = command
	return r.dumpsFiles()
}
