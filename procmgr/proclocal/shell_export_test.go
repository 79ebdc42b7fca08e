package proclocal

// DefaultShell is for the tests.
var DefaultShell = defaultShell
