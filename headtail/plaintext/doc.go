// Package plaintext turns the output that a program prints to a terminal into
// plain text, as it streams.
//
// It is made for output that is kept, and that a person or a language model
// reads later. Colours mean nothing to that reader, and a progress bar that was
// drawn a thousand times is a thousand lines that say less than two.
//
// A [Writer] is an [io.Writer] in front of another one. [Writer.Flush] ends the
// stream. Until then, [Writer.Pending] shows the text that is held back: the
// newest state of a progress line, or a prompt, can be seen while the program
// waits.
//
// # Sequences
//
// An escape sequence is removed and leaves nothing. These are sequences: CSI
// (ESC [); OSC (ESC ]) up to BEL or ST; DCS, SOS, PM and APC (ESC P, X, ^, _)
// up to ST; and ESC with any intermediate bytes (space to /) and one more byte
// (0 to ~). As on a terminal, an ESC within a sequence ends it and begins another,
// and CAN or SUB ends it. The sequence that moves the cursor to the first
// column (CSI G, also with 0 or 1) counts as a carriage return.
//
// If a sequence is not whole, it is text, byte for byte. A sequence is not
// whole if it has not ended after 4 KiB, at a newline or carriage return, or at
// the end of the stream, or if it contains a byte that has no place in it. The
// 8-bit forms (0x80 to 0x9F) are no sequences, because these bytes are parts of
// runes and letters of Latin-1.
//
// # Lines
//
// \r\n becomes \n, with any number of \r. Any other carriage return begins
// a new state of its line. Only the first and the newest state of a line are
// written, each on a line of its own, or once if they are equal:
//
//	" 0%\r 50%\r 100%\r\n"  becomes  " 0%\n 100%\n"
//
// Each state stands for itself: if a terminal would still show the end of a
// longer state behind a shorter one, the text does not. A state of only spaces
// and control characters shows nothing: it erases the line and does not count.
// So the newest state is the last that could be read, even if it was erased
// afterwards, and carriage returns before the first state leave no trace.
//
// The first state is written as it comes, and so is every line without a
// carriage return: a prompt is not held back. Later states are held back until
// the line ends. If a state grows longer than 4 KiB, it is held back no
// further: it is written on a line of its own, and takes the place of the first
// state. A state of more than 4 KiB counts even if it is blank.
//
// All other bytes pass unchanged, including backspaces and NULs. UTF-16 text
// has NULs between \r and \n, and comes out as UTF-16 text.
//
// # Guarantees
//
//   - The text depends on the stream alone, never on how the stream was split
//     into writes.
//   - The written text and Pending together are always the text that would
//     result if the stream ended there.
//   - Memory: at most 4 KiB for each of a sequence, the first, the newest and
//     the current state, with any stream. Each is allocated only when it is
//     needed.
//   - The text has no carriage return and is never longer than the stream. To
//     clean it again changes nothing: if a sequence was removed, the bytes on
//     its two sides do not make another.
//   - If a write has no ESC and no carriage return, it costs no more than a
//     search for the two. Its bytes are not copied, except those of an
//     unfinished last line.
//
// # Limits
//
// The package knows no screen. If a program moves the cursor to put text into
// place, the text stands in the order in which it was printed. If a program
// moves up to redraw lines, the text has these lines as often as the program
// drew them.
//
// It does not make output safe to print on a terminal: an ESC that begins no
// whole sequence stays, and terminals accept more forms than these rules do.
//
// The package behaves alike on every platform.
package plaintext
