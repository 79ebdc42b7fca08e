//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

// forgetStartup does nothing: what a process has mapped is not told here.
func forgetStartup() {}
