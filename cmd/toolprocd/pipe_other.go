//go:build !unix

package main

// outlivePipe does nothing: there is no SIGPIPE here.
func outlivePipe() {}

// noReader reports false: a write fails for its own reason.
func noReader(error) bool { return false }
