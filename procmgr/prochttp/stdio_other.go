//go:build !unix

package prochttp

// outlivePipes has nothing to do: there is no SIGPIPE.
func outlivePipes() {}
