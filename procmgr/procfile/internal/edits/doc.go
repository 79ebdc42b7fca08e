// Package edits finds the place of an edit in a text, as models write edits: with other
// space at the ends of lines, or indented in another way. It reads no file.
package edits
