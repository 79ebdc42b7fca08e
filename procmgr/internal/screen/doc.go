// Package screen draws the output of a program on a screen, as a terminal does.
// It knows no process and no terminal of the system: bytes go in, and rows, the
// cursor, modes and the answers to the program's questions come out.
//
// The emulator comes from a library, behind the interface [emulator]. This package
// makes up for its shortcomings: a rune that is split between two writes, the question
// ESC [ c, REP, numbers that would keep it busy for minutes, sequences of newer
// terminals that it would misread, and its panics. One flaw remains: a wide rune and a
// combining rune take one column each.
package screen
