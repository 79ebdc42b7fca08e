// Package wording writes values into the sentences of a result: durations and
// numbers, names and lines of output in quotes. It also counts and cuts by the
// bytes that a text takes in a result.
package wording
