// Package input writes to the stdin of a process, and draws its terminal if it has
// one: one request at a time, each key once, and no text as a part of another one.
package input
