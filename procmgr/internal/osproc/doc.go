// Package osproc runs one command and everything that it started, by the means
// of each platform: it starts it, follows it to its end, finds what has left it,
// and signals all of it. It knows no chat, ID, record or limit.
package osproc
