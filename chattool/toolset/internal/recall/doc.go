// Package recall remembers what results have shown to a model: which outputs it
// has read, how long commands took, and which reads of a process showed nothing
// new. It reads no output and asks no manager.
package recall
