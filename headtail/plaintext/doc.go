// Package plaintext turns terminal output into plain text, as it streams.
//
// It is made for output that a person or a language model reads later. Colours
// mean nothing to that reader, and a progress bar that was drawn a thousand times
// is a thousand lines that say less than two.
//
// A [Writer] is an [io.Writer] in front of another one. [Writer.Flush] ends the
// stream. Until then, [Writer.Pending] shows the text that is held back: the
// newest state of a progress line, or a prompt.
//
// # Sequences
//
// Escape sequences are removed: CSI (ESC [); OSC (ESC ]) up to BEL or ST; DCS, SOS,
// PM and APC (ESC P, X, ^, _) up to ST; and ESC with any intermediate bytes (space
// to /) and one more byte (0 to ~). As on a terminal, an ESC within a sequence ends
// it and begins another, and CAN or SUB ends it.
//
// A sequence is text, byte for byte, if it has not ended after 4 KiB, at a newline
// or carriage return, or at the end of the stream, or if it contains a byte that
// has no place in it. The 8-bit forms (0x80 to 0x9F) are no sequences, because
// these bytes are parts of runes and letters of Latin-1.
//
// # Lines
//
// \r\n becomes \n, with any number of \r. Any other carriage return, or a CSI G to
// the first column, begins a new state of its line. Only the first and the newest
// state of a line are written, each on a line of its own, or once if they are equal:
//
//	" 0%\r 50%\r 100%\r\n"  becomes  " 0%\n 100%\n"
//
// The end of a longer state does not show behind a shorter one. A state of only
// spaces and control characters erases the line and does not count. The first state
// is written as it comes, so a prompt is not held back. Later states are held back
// until the line ends. A state of more than 4 KiB is written on a line of its own,
// and takes the place of the first state.
//
// A backspace moves the cursor back by a rune, and CSI D by several. Text that
// stands there already moves it forward again, so text that is struck twice is
// there once. Other text begins a new state, with what stands before the cursor:
//
//	"1%\b\b12%\b\b\b100%\n"  becomes  "1%\n100%\n"
//
// CSI C moves the cursor forward. Each column beyond the text is a space, at most
// 80 at once. The cursor does not move back in a state that is longer than 4 KiB or
// has an ESC as text, and not after a sequence has moved it to another row.
//
// All other bytes pass unchanged, including NULs, so UTF-16 text stays UTF-16.
//
// # Guarantees
//
//   - The text depends on the stream alone, never on how it was split into writes.
//   - The written text and Pending together are always the text that would
//     result if the stream ended there.
//   - Memory: at most 4 KiB for each of a sequence, the first, the newest and
//     the current state. Each is allocated only when it is needed.
//   - To clean the text again changes nothing.
//
// # Limits
//
// The package knows no screen: if a program moves the cursor up to redraw lines, the
// text has these lines as often as the program drew them. It does not make output
// safe to print on a terminal, because an ESC that begins no whole sequence stays.
package plaintext
