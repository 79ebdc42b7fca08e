// Package prefilter looks for lines that a regular expression may match, much
// faster than the expression itself. It takes from the expression a set of
// strings of which every match contains at least one, and searches for those.
package prefilter
