// Package capture keeps what a process prints: the beginning and the end of it
// in memory, all of it in a file, as plain text or as it is. It matches what
// comes against patterns, and reads it in pages. It knows nothing of processes.
package capture
