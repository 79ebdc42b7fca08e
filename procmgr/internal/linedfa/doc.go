// Package linedfa tells whether a regular expression matches a line, in one
// pass over the line and some 20 times as fast as package regexp. It tells
// nothing else: neither where the match is, nor its groups.
package linedfa
