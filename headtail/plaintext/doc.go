// Package plaintext turns what a program prints to a terminal into plain text,
// as it streams.
//
// It is made for output that is kept and read later, by a person or a language
// model: colours mean nothing there, and a progress bar that was drawn a
// thousand times is a thousand lines that say less than two.
//
// A [Writer] is an [io.Writer] in front of another one. [Writer.Flush] ends the
// stream. [Writer.Pending] shows what is held back meanwhile, so that the newest
// state of a progress line and a prompt can be seen while the program waits.
//
// # Sequences
//
// Escape sequences go, and leave nothing: CSI (ESC [), OSC (ESC ]) up to BEL or
// ST, DCS, SOS, PM and APC (ESC P, X, ^, _) up to ST, and those of ESC, any
// intermediate bytes (space to /) and one more byte (0 to ~). As on a terminal,
// an ESC within a sequence ends it and begins another, and CAN or SUB end it.
// The one that moves the cursor to the first column (CSI G, also with 0 or 1) is
// taken as a carriage return.
//
// What is no whole sequence is text, byte for byte: one that has not ended after
// 4 KiB, at a newline or carriage return, or at the end of the stream, and one
// with a byte that has no place in it. The 8-bit forms (0x80 to 0x9F) are no
// sequences, since these bytes are parts of runes and letters of Latin-1.
//
// # Lines
//
// \r\n becomes \n, however many \r there are. Any other carriage return begins a
// new state of its line, and of the states only the first and the newest are
// written, each on a line of its own, or once where they are equal:
//
//	" 0%\r 50%\r 100%\r\n"  becomes  " 0%\n 100%\n"
//
// Each state stands for itself; what a shorter one leaves visible of a longer
// one on a terminal is not put together. A state that shows nothing, because it
// is only spaces and control characters, erases and does not count. So the
// newest state is the last that could be read, even if it was erased then, and
// in front of the first state carriage returns go without a trace.
//
// The first state is written as it comes, and so is every line without a
// carriage return: a prompt is not held back. What is held back is the states
// behind the first, until the line ends. A state of more than 4 KiB is not held
// back further: it is written, on a line of its own, and is from then on what the
// first state was. Blanks of more than 4 KiB are no blanks.
//
// All other bytes pass as they are, backspaces and NULs included. UTF-16 text,
// whose \r and \n have NULs between them, comes out as UTF-16 text.
//
// # What holds
//
//   - The text depends on the stream alone, never on how it was split in writes.
//   - What was written and Pending together are always what the text would be if
//     the stream ended there.
//   - Memory: at most 4 KiB for each of a sequence, the first, the newest and the
//     current state, whatever comes; none of it before there is need.
//   - The text has no carriage return, is never longer than the stream, and
//     cleaning it again changes nothing: where a sequence was taken out, the
//     bytes on its two sides do not make another.
//   - Where there is no ESC and no carriage return, what it costs is a search for
//     the two. The bytes are not copied, but for the last line's if it is
//     unfinished.
//
// # What it is not
//
// The package knows no screen. What a program puts into place by cursor movements
// stands in the order in which it was printed, and lines that it redraws by
// moving up are there as often as it drew them.
//
// It does not make output safe to print on a terminal: an ESC that begins no
// whole sequence is left, and terminals forgive more than these rules do.
//
// The package behaves alike on every platform.
package plaintext
