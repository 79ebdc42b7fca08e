//go:build !race

package procmgr_test

// raced tells that the race detector slows this run down.
const raced = false
