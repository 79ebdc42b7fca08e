// Package headtail keeps the beginning and the end of a byte stream in bounded
// memory, and turns them into a text of bounded length.
//
// It is made for the output of commands that a person or a language model
// reads: what a command says first tells what it set out to do, what it says
// last tells how it went, and neither may be lost because the middle was long.
//
// A [Buffer] is an [io.Writer] that takes everything and never fails. It keeps
// the first bytes, the last bytes, and the count of all bytes. A [Snapshot] is a
// copy of what it holds, from any offset of the stream on, so that a reader can
// come back with [Snapshot.Total] and get only what is new. [Snapshot.Text] is
// the one place where a text is made, and the one place where it is shortened.
//
// # What holds
//
//   - Memory: at most head+tail bytes, allocated as the stream comes.
//   - While no more than head+tail bytes were written, nothing is dropped.
//   - In every Snapshot, From + len(Head) + Gap + len(Tail) == Total.
//   - Until [Buffer.Close], Snapshot.Total never lies within a rune: pages that
//     are joined by it neither overlap nor lose a byte, and no rune is torn.
//   - A text is valid UTF-8, and never longer than its limit.
//   - The last bytes of the stream are in the text, whatever else is not.
//   - What is missing is counted, in the text and in the [Truncation].
//
// # What it is not
//
// The package knows bytes, runes and lines, but no terminal: escape sequences
// and carriage returns are bytes like any other. It does not keep the middle of
// a long stream; who needs that writes the stream to a file as well.
//
// The package behaves alike on every platform.
package headtail
