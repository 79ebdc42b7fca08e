package procmgr

// DefaultShell is for the tests.
var DefaultShell = defaultShell
