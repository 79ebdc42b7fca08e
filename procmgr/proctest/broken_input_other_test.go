//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package proctest_test

// No process has a stdin on this system.
var brokenInputs []brokenHost
