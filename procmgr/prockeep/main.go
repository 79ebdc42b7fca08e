package prockeep

// Main turns the program into a keeper if Open has started it as one; then it
// does not return. Otherwise it returns at once. Call it first in main, and in
// TestMain.
func Main() {
	runKeeper()
}
