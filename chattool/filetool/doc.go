// Package filetool gives a language model three tools for text files. It fits any
// loop that calls tools, as package toolset does.
package filetool
