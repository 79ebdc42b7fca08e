// Package house_test checks what the whole repository must keep to: the size of
// each part, the imports between packages, the exported API, the links of the
// documentation and the versions of the modules.
package house_test

import "testing"

// inRoot runs a test in the repository's root, so that every path in it and in its
// messages is relative to that. TestMain cannot do it: go test would not see which
// files the tests read, and take an old result for a new one.
func inRoot(t *testing.T) {
	t.Helper()
	t.Chdir("../..")
}
