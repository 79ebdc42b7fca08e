// Package check says why a request can never be carried out, for every
// implementation of a Manager in the same words. It has the keys of a terminal for
// the same reason.
package check
