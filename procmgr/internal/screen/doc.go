// Package screen draws the output of a program on a screen, as a terminal does.
// It knows no process and no terminal of the system: bytes go in, and rows, the
// cursor, modes and the answers to the program's questions come out.
//
// The emulator is that of a library, behind the interface [emulator]. This
// package mends around it what matters: a rune that is split between two
// writes, the question ESC [ c, REP, numbers that would keep the emulator busy
// for minutes, sequences of newer terminals that it would take for others, and
// its panics. Known, and left so: a wide rune and a combining one take one
// column each.
package screen
