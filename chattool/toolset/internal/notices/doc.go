// Package notices knows which processes a set of tools has left running, and what
// the model has not been told of them: for the results of later calls, and for the
// inbox of a host.
package notices
