package procmgr

import (
	"slices"
)

// A Key is a key of a terminal, or a combination of keys, in lower case: enter,
// tab, escape, space, backspace, delete, insert, up, down, left, right, home,
// end, page-up, page-down, f1 to f12, shift-tab, ctrl-a to ctrl-z, ctrl-space,
// ctrl-backslash, ctrl-], ctrl-^, ctrl-_, ctrl-left, ctrl-right, and alt- with
// any other key or with one character, as in alt-x. [KeyNames] lists them.
//
// ctrl-c interrupts the programs in the foreground of the terminal, unless a
// program there reads it itself. [Manager].Signal reaches all members.
type Key string

// keyNames are the keys as KeyNames lists them. A test of internal/check compares
// them with its keys.
var keyNames = []string{
	"enter", "tab", "escape", "space", "backspace", "delete", "insert",
	"up", "down", "left", "right", "home", "end", "page-up", "page-down", "shift-tab",
	"f1 to f12", "ctrl-a to ctrl-z", "ctrl-space", "ctrl-backslash", "ctrl-]", "ctrl-^", "ctrl-_", "ctrl-left", "ctrl-right",
	"alt- with another key or a character",
}

// KeyNames returns the names of all keys for a description. Keys that are alike
// have one entry, such as "f1 to f12". The caller may change the slice.
func KeyNames() []string { return slices.Clone(keyNames) }
