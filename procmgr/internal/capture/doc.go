// Package capture keeps the output of a process: its beginning and its end in
// memory, and all of it in a file, as plain text or raw. It matches new output
// against patterns, and returns output in pages. It knows nothing of processes.
package capture
