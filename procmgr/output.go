package procmgr

import (
	"time"

	"github.com/toolproc/toolproc/headtail"
)

// An OutputRequest has the offset to read from, and the time to wait.
type OutputRequest struct {
	// From is an offset in the output in bytes. 0 is the beginning, and so is
	// a negative offset. An offset beyond the end is taken for the end.
	From int64 `json:"from,omitzero"`
	// Wait is the longest time to wait; 0 returns at once. A wait ends as soon
	// as the process changes its state.
	Wait time.Duration `json:"wait,omitzero"`
	// State is the last state that the caller knows; "" is the state at the
	// time of the call. If the process has another one, the wait is over at
	// once: so a change between two calls is told by the second.
	State State `json:"state,omitempty"`
	// Until is an RE2 pattern: return as soon as output from From on matches
	// it. It is matched line by line, the unfinished last line included,
	// each line's first 4 KiB. A pattern of over 256 bytes, one that compiles
	// to over 1,000 instructions, and one that wants a newline or text behind a $,
	// which no line has, is [ErrInvalid]. "." is any new output.
	Until string `json:"until,omitempty"`
	// Ports asks for Output.Listening: the ports on which the process listens.
	// That costs a look at every process of the machine. If the manager cannot
	// tell, the error is [errors.ErrUnsupported]; a proclocal.Local can on Linux alone.
	Ports bool `json:"ports,omitzero"`
	// UntilListening is a TCP port, or -1 for any: return as soon as the
	// process listens on it, on any address. While a call waits for a
	// port, the manager looks every 100 ms, and whatever ends the wait meanwhile ends it
	// after the look. It sets Output.Listening as Ports does. A port over 65,535 is
	// [ErrInvalid], and so is one below -1.
	UntilListening int `json:"until_listening,omitzero"`
	// UntilWaiting ends the wait as soon as a member waits for input and the output has
	// been quiet for 200 ms. Process.Waiting then says which member. It has no effect
	// if waiting cannot be detected, for example with an empty stdin. During such a
	// call, the manager looks when the output has been quiet for 200 ms, and then after
	// 0.4, 0.8 and so on up to 5 s.
	UntilWaiting bool `json:"until_waiting,omitzero"`
	// Limit bounds the Text of the answer; the zero value is the default.
	Limit headtail.Limits `json:"limit,omitzero"`
	// Screen asks for Output.Screen.
	Screen bool `json:"screen,omitzero"`
	// Highlight asks for Output.Highlights of at most so many bytes of text; 0 or
	// less asks for none. They take a part of Limit: if Text is cut, it is shorter
	// by about what they and the numbers of their lines take.
	Highlight int `json:"highlight,omitzero"`
	// Against asks for Output.Changes: it is the ID of another ended process of this
	// chat. That process's whole output is compared with this one's. "" asks for no
	// comparison. An ID that the chat does not have is no error.
	Against string `json:"against,omitempty"`
}

// A Highlight is a line of the output that suggests trouble, such as an error. It
// stands for all lines of its form: lines that differ from it only in quoted text and
// in words with a digit or a slash, or behind its first 80 bytes.
type Highlight struct {
	// Line is the number of the line in the stream, from 1 on. It is 0 if the
	// manager has not counted so far.
	Line int `json:"line,omitempty"`
	// Offset is the offset in the stream at which the line begins, or the part
	// of it that the output's text leaves out.
	Offset int64 `json:"offset"`
	// Text is the line as valid UTF-8, and up to two lines that follow it, are
	// not empty and no highlights themselves. The last line end is left out. Each line has at most 300 bytes: of a longer one the part around
	// the trouble, with … for the rest.
	Text string `json:"text"`
	// Count is how many more lines of this form Text leaves out.
	Count int `json:"count,omitempty"`
}

// An Output is the output of a process from an offset on, and its state.
type Output struct {
	Process Process `json:"process"`
	// Attached reports that Start found this process by its ID and started
	// nothing.
	Attached bool `json:"attached,omitempty"`
	// Withheld has the names of the variables that the command mentions and
	// that the environment policy kept from it. It never has values. If the
	// command has failed, the names in its output count too.
	Withheld []string `json:"withheld,omitempty"`
	// Text is the output as valid UTF-8. If it exceeds the limit, its middle
	// is left out.
	Text string `json:"output"`
	// Truncated counts the bytes from From on that Text leaves out. It is nil if Text
	// leaves out nothing. If an unknown amount of the output from From on was lost with
	// the program that had read it, Truncated.Unknown is set, even if nothing else is
	// left out.
	Truncated *headtail.Truncation `json:"truncated,omitempty"`
	// Next is the offset at which to go on reading: the From of the next
	// request. It never lies within a rune. Text may go on beyond it with a
	// line that the program is still redrawing, such as a progress line or a
	// prompt: that has no offset.
	Next int64 `json:"next"`
	// Redacted has the names of the secrets whose values were masked in the output of
	// the process so far: [withheld: NAME] stands in their place. Offsets count bytes
	// of the masked output.
	Redacted []string `json:"redacted,omitempty"`
	// Live is that line, with which Text ends. A caller that joins texts takes it
	// off with [strings.TrimSuffix], or gets the line twice. The length of Text
	// without it need not be Next minus From, because each invalid byte of the
	// stream is U+FFFD in Text.
	Live string `json:"live,omitempty"`
	// Matched reports whether Until matched. It and the next three fields are zero if
	// the request has no Until.
	Matched bool `json:"matched,omitempty"`
	// MatchedLine is the line that Until matched, as valid UTF-8 without its
	// end. Of a line of over 300 bytes it is the part around the match, with …
	// for the rest. It is "" if the pattern is ".".
	MatchedLine string `json:"matched_line,omitempty"`
	// MatchedAt is the offset in the stream at which that line begins, or From
	// if it begins before that.
	MatchedAt int64 `json:"matched_at,omitempty"`
	// Unsearched is how many bytes of the stream from From on Until was not
	// matched against, up to the match if there is one: bytes that were no
	// longer kept when the call began, and those beyond the first 4 KiB of a
	// line. Matched says nothing about them.
	Unsearched int64 `json:"unsearched,omitempty"`
	// Highlights are the first lines of each form of trouble in the part that
	// Text leaves out, if OutputRequest.Highlight asks for them. A line tells of
	// trouble if a word such as "error", from any program, starts its message, or
	// stands before a colon or in capitals, or anywhere if the exit code isn't 0.
	// They are in the order of rank: the gravest comes first. Of a process whose exit
	// code is 0 or not known there are at most 15 lines. If there is
	// no room for all, the last ones of this order are missing, so that more
	// room never shows less. They come from the log, so there are none without
	// one. A search ends after 64 MiB or 200 ms, and begins at both ends of the part
	// left out.
	Highlights []Highlight `json:"highlights,omitempty"`
	// Changes says how the output differs from the output of OutputRequest.Against. It
	// is nil if no comparison was asked for, or if none is possible: one of the two
	// processes has not ended or is no longer kept, window and log do not have all of
	// its output, or too much would have to be compared (a proclocal.Local compares
	// outputs of up to 8 MiB, with up to 1 MiB and 20,000 lines between the first and
	// the last difference).
	Changes *Changes `json:"changes,omitempty"`
	// Listening has the sockets on which members of the process listen, in the
	// order of their ports, if Ports or UntilListening asked for them.
	Listening []Socket `json:"listening,omitempty"`
	// Screen is the screen of the process's terminal, if the request asked for
	// it. It is nil if the process has no terminal. After the end it is the
	// last screen, as long as the output is kept.
	Screen *Screen `json:"screen,omitempty"`
}

// Changes says how the output of a process differs from the output of an earlier one,
// line by line, as it was kept: both are masked, and plain text unless the manager
// keeps them as they were printed.
//
// Only two kinds of times count as equal. One is a date with a time of day, or a time
// of day, at the beginning of a line, if it moved by as much as the starts of the two
// processes are apart. The other is the duration at the end of a test runner's line, if
// it hardly moved. [docs/output.md] lists the forms that a proclocal.Local recognizes.
// Any other number, such as a count, a size, a port or a pid, may be the answer, so it
// differs.
//
// [docs/output.md]: https://github.com/toolproc/toolproc/blob/main/docs/output.md
type Changes struct {
	// Same reports that every line is the same, in the same order, but for times, and
	// Times counts the lines that are the same but for a time.
	Same  bool `json:"same,omitempty"`
	Times int  `json:"times,omitempty"`
	// Added and Removed count the lines that only this output and only the earlier
	// output has. Lines counts all lines of this output. A line that has changed counts
	// as one of each.
	Added   int `json:"added,omitempty"`
	Removed int `json:"removed,omitempty"`
	Lines   int `json:"lines,omitempty"`
	// Text has the changes as hunks with two lines of context, as diff -U2 writes
	// them, without the names of files. It is valid UTF-8, and empty if it does not fit
	// OutputRequest.Limit; of a line that does not, it has the part around the change,
	// with … for the rest. If more than half of the lines or 1024 differ in order, and
	// fewer as a set, as with tests that run side by side, it has only the lines that
	// are more or fewer than before.
	//
	// A line of an output stands behind a blank, a + or a -. So a program can print
	// no line that looks like the @@ of a hunk, nor like the ( with which the line
	// begins that says that the order differs.
	Text string `json:"text,omitempty"`
}
