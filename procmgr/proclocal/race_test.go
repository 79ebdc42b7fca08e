//go:build race

package proclocal_test

// raced tells that the race detector slows this run down.
const raced = true
