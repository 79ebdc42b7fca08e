module github.com/toolproc/toolproc/.ci/sh

go 1.26.0

// For the whole workspace, which reads each go.mod file that any of them names. Fantasy
// names this one, the Go module proxy doesn't always serve it, and nothing here uses it.
// It is here since nobody installs this module, which an exclude would prevent.
exclude github.com/ardanlabs/kronk v1.31.3

require mvdan.cc/sh/v3 v3.14.1

require (
	golang.org/x/sys v0.50.0 // indirect
	golang.org/x/term v0.48.0 // indirect
)
