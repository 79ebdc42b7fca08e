// Package shallow bounds how deep a parser of shell commands descends.
//
// The parser is recursive and has no limit of its own. A stack that overflows ends the
// whole program, which cannot recover from that. But only input makes the parser
// descend. So the reader of its input limits the depth, for every construct of the
// grammar alike.
package shallow

import (
	"errors"
	"io"
	"runtime"
)

const (
	// maxFrames is how many calls deep the stack may be when the parser
	// asks for more input. It leaves room for about 200 levels of nesting,
	// and for the host's own calls.
	maxFrames = 2000
	// chunk is how many bytes the parser gets at a time. So it is also how
	// far the parser gets between two checks of the stack.
	chunk = 256
)

// ErrTooDeep is the error of a Reader whose caller's stack is too deep.
var ErrTooDeep = errors.New("nested too deep")

type reader struct {
	rest string
	read bool // the first chunk has been handed out
}

// NewReader returns a reader of a text in chunks, which stops if its caller's stack is
// too deep. The stack has at most 2,000 calls then, plus those that one chunk adds.
func NewReader(text string) io.Reader { return &reader{rest: text} }

func (r *reader) Read(p []byte) (int, error) {
	// The end comes in a read of its own. If bytes come with it, the parser
	// is off by one in the end of the last word.
	if r.rest == "" {
		return 0, io.EOF
	}
	// Before the first chunk the parser cannot have descended. Most
	// commands have only that one.
	var deeper [1]uintptr
	if r.read && runtime.Callers(maxFrames, deeper[:]) > 0 {
		return 0, ErrTooDeep
	}
	r.read = true
	n := copy(p[:min(len(p), chunk)], r.rest)
	r.rest = r.rest[n:]
	return n, nil
}
