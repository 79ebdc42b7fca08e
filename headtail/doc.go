// Package headtail keeps the beginning and the end of a byte stream in bounded
// memory, and makes a text of bounded length from them.
//
// It is made for the output of commands that a person or a language model
// reads. The first lines of an output tell the purpose of the command, and the last
// lines tell how it went. Neither may be lost because the middle was long.
//
// A [Buffer] is an [io.Writer] that takes every byte and never fails. It keeps
// the first bytes, the last bytes, and the count of all bytes. A [Snapshot] is
// a copy of the kept bytes from any offset of the stream on: a reader that asks
// again from [Snapshot.Total] gets only the new bytes. [Snapshot.Text] is the
// only place that makes a text, and the only place that shortens one.
//
// # Guarantees
//
//   - Memory: at most head+tail bytes, allocated as the stream comes.
//   - If no more than head+tail bytes were written, nothing is dropped.
//   - In every Snapshot, From + len(Head) + Gap + len(Tail) == Total.
//   - Until [Buffer.Close], Snapshot.Total never lies within a rune. So pages
//     that are joined at Total do not overlap, lose no byte, and split no rune.
//   - A text is valid UTF-8, and never longer than its limit.
//   - The last bytes of the stream are always in the text, even if others are
//     not.
//   - The text and the [Truncation] both count the missing bytes.
//
// # Limits
//
// The package knows bytes, runes and lines, but no terminal: it treats escape
// sequences and carriage returns like any other bytes. It does not keep the
// middle of a long stream. If you need the middle, write the stream to a file
// as well.
//
// The package behaves alike on every platform.
package headtail
