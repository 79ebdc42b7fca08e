//go:build !unix

package scripts

// openNow is 0, because here an open waits for nothing.
const openNow = 0
