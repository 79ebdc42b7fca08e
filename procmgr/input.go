package procmgr

import (
	"slices"
	"time"

	"github.com/toolproc/toolproc/headtail"
)

// An InputRequest has the input to write, and the time to wait for output. With
// nothing to write, it only waits.
type InputRequest struct {
	// IdempotencyKey has 1 to 64 characters of A-Z a-z 0-9 _ -, and the caller chooses
	// it; "" is a new one. A key writes once: a request with a key that the
	// process has seen writes nothing, and its answer has the output from the
	// offset of the first one. The process
	// remembers its last 64 keys. With other Data, Keys, Close or Secret, the
	// error is [ErrConflict]. A request that was refused and has written
	// nothing leaves its key unused. If the first request is still being
	// written, another one with its key waits for that, with any Wait.
	IdempotencyKey string `json:"key,omitempty"`
	// Data is written as it is, at most 64 KiB. On a terminal whose
	// program has asked for bracketed paste, Data with a line end in it is
	// marked as pasted text; if it has ESC [201~ in it, the error is
	// [ErrInvalid]. A terminal that collects lines drops all bytes of a line
	// beyond 4,095 (1,023 on macOS and BSD); such a line is ErrInvalid.
	Data []byte `json:"data,omitempty"`
	// Keys are pressed after Data, on a terminal only. See [Key].
	Keys []Key `json:"keys,omitempty"`
	// Close ends the input after that. A pipe is closed: Data in a later
	// request is ErrInvalid. On a terminal its end-of-file character is
	// typed, which ends the input only of a program that reads lines.
	Close bool `json:"close,omitzero"`
	// Secret is for a password, on a terminal only: nothing is written until
	// the program has turned the echo off and reads a line, as programs do
	// that ask for one. If it has not when Wait is over, the error is
	// [ErrNotReady].
	Secret bool `json:"secret,omitzero"`
	// Wait is the longest time to wait in all: for a pipe that is full, for
	// the echo to go off, and for output. The wait ends when all is written
	// if none of Until, UntilQuiet and UntilWaiting is set, and as soon as the process
	// changes its state. 0 tries once.
	Wait time.Duration `json:"wait,omitzero"`
	// Until ends the wait when output from the offset before the write on
	// matches it; see OutputRequest.Until. A prompt that was shown before the
	// write is no match. A prompt that comes after the write has begun is one,
	// even if the program had not read the input: wait for the first prompt of
	// a program before you write.
	Until string `json:"until,omitempty"`
	// UntilQuiet ends the wait when the output has been quiet for so long,
	// counted from the first output after the write. If there is none at all
	// for 2 s, that ends it too.
	UntilQuiet time.Duration `json:"until_quiet,omitzero"`
	// UntilWaiting ends the wait as soon as all is written, a member waits for input
	// and the output has been quiet for 200 ms since the write. See
	// OutputRequest.UntilWaiting.
	UntilWaiting bool `json:"until_waiting,omitzero"`
	// Limit bounds the Text of the answer; the zero value is the default.
	Limit headtail.Limits `json:"limit,omitzero"`
}

// An InputOutput is the output from the offset before a write on.
type InputOutput struct {
	Output
	// Written is how many bytes of Data were taken. If these are fewer than
	// Data has, Keys and Close were not done: go on with the rest of Data, and
	// a new key.
	Written int `json:"written"`
}

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
