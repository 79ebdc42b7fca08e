package input

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/check"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// Write writes a request, and sets the fields of w. If it reports that the
// request was refused, nothing was written. An error that is ctx's is not w's.
func (in *Inlet) Write(ctx context.Context, w *Receipt, req procmgr.InputRequest, until time.Time) (refused bool, err error) {
	defer func() { w.at = time.Now() }()
	mark := func() {
		w.Before = in.out.Mark()
		in.mu.Lock()
		defer in.mu.Unlock()
		w.prints = in.prints
	}
	if !check.Writes(req) {
		mark()
		return false, nil
	}
	err = in.acquire(ctx, req.Secret, until)
	if errors.Is(err, errBusy) && len(req.Data) > 0 {
		mark()
		return false, nil // Written says that nothing was
	}
	if err != nil {
		return true, err
	}
	defer in.release()
	typed, err := in.encode(req)
	if err == nil && in.exited() {
		err = osproc.ErrStdinClosed
	}
	if err != nil {
		return true, err
	}
	mark()
	n := 0
	if len(typed.text) > 0 {
		n, err = in.tree.Write(ctx, typed.text, until)
		in.owed = typed.owed(n)
	}
	if n > 0 {
		in.mu.Lock()
		in.writes++
		in.writtenAt = time.Now()
		in.mu.Unlock()
	}
	w.N = min(max(n-typed.data, 0), len(req.Data))
	if err != nil && ctx.Err() == nil {
		w.Err = err
	} else if n < len(typed.text) && w.N == len(req.Data) {
		w.Err = errKeys
		if n == 0 {
			w.Err = errFull
		}
	}
	if n == 0 && (err != nil || w.Err != nil) {
		return true, cmp.Or(err, w.Err)
	}
	if n == len(typed.text) && req.Close && !in.terminal {
		in.tree.Close()
		w.Closed = true
		in.mu.Lock()
		in.closed = true
		in.mu.Unlock()
	}
	return false, err
}

// errBusy is the error of a request that could not begin in its time.
var errBusy = xerrors.Errorf("an earlier request is not written yet, because the program does not read it: %w", procmgr.ErrNotReady)

// errEcho is the error of a secret for which no program asks.
var errEcho = xerrors.Errorf("no program asks for a secret: none has turned the echo of the terminal off to read a line, so nothing was written: %w", procmgr.ErrNotReady)

// errFull is the error of keys if the terminal has taken none of their bytes.
var errFull = xerrors.Errorf("the terminal has no room, because its program does not read, so nothing was written; a signal reaches it all the same: %w", procmgr.ErrNotReady)

// errKeys is the error of a request whose Data was written, and nothing or only
// a part of what comes after it.
var errKeys = xerrors.Errorf("the data was written, but the terminal has no room for all of the keys, because its program does not read: %w", procmgr.ErrNotReady)

// acquire takes the turn to write. If the request is a secret, it first waits
// until a program asks for one.
func (in *Inlet) acquire(ctx context.Context, secret bool, until time.Time) error {
	for {
		if err := in.awaitTurn(ctx, until); err != nil || !secret {
			return err
		}
		mode, err := in.tree.Mode()
		if err == nil && !mode.Echo && mode.Lines {
			return nil // and stays so, as far as this program can tell
		}
		in.release()
		switch {
		case err != nil:
			return err
		case !time.Now().Before(until):
			return errEcho
		}
		// No system tells when a program changes the mode of its terminal.
		select {
		case <-time.After(min(echoPause, time.Until(until))):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// echoPause is how often a request with a secret looks at the terminal.
const echoPause = 10 * time.Millisecond

// awaitTurn waits for the turn to write. A request without time waits for a moment: an
// earlier one that does not wait for room has ended by then.
func (in *Inlet) awaitTurn(ctx context.Context, until time.Time) error {
	over := time.NewTimer(max(time.Until(until), turnPatience))
	defer over.Stop()
	select {
	case in.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-over.C:
		return errBusy
	}
}

// turnPatience is how long a request waits for its turn, although it has no time.
const turnPatience = 200 * time.Millisecond

// release gives the turn back, after the replies of the screen that have waited
// for it.
func (in *Inlet) release() {
	for {
		in.mu.Lock()
		replies := in.replies
		in.replies = nil
		if len(replies) == 0 {
			<-in.turn // under mu: a reply that comes now finds the turn free
			in.mu.Unlock()
			return
		}
		in.mu.Unlock()
		// Without a wait: if there is no room, the program does not read.
		owed := in.owing()
		n, _ := in.tree.Write(context.Background(), append([]byte(owed), replies...), time.Time{})
		in.owed = owed[min(n, len(owed)):]
	}
}

// reply writes the replies of the screen, unless a request has its turn: then
// that request does it.
func (in *Inlet) reply() {
	in.mu.Lock()
	select {
	case in.turn <- struct{}{}:
		in.mu.Unlock()
		in.release()
	default:
		in.mu.Unlock()
	}
}

// owing returns what is to be written first, because a terminal took only a part of a
// pasted text: or else what follows would be a part of it.
func (in *Inlet) owing() string {
	if !in.modes().BracketedPaste { // the program that was to read it is gone
		return ""
	}
	return in.owed
}

// The marks of a pasted text.
const (
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

// A keying is the bytes that a request writes, with the marks of a pasted text.
type keying struct {
	text      []byte
	prefix    int // the bytes up to here end an earlier pasted text
	data, end int // where the request's Data begins and ends
	pasted    int // the bytes up to here, behind prefix, are a pasted text; 0 if none is
}

// owed returns the rest of the marks if only n bytes were taken, and they leave a pasted
// text open.
func (k keying) owed(n int) string {
	switch {
	case n < k.prefix:
		return string(k.text[n:k.prefix])
	case n > k.prefix && n < k.pasted:
		return string(k.text[n:max(n, k.data)]) + string(k.text[max(n, k.end):k.pasted])
	}
	return ""
}

// encode returns the bytes that a request writes. The caller has the turn.
func (in *Inlet) encode(req procmgr.InputRequest) (k keying, err error) {
	if !in.terminal {
		in.mu.Lock()
		closed := in.closed
		in.mu.Unlock()
		if closed && len(req.Data) > 0 {
			return k, xerrors.Errorf("its stdin was closed by an earlier request, so no data can follow: %w", procmgr.ErrInvalid)
		}
		return keying{text: req.Data, end: len(req.Data)}, nil
	}
	mode, err := in.tree.Mode()
	if err != nil {
		return k, err
	}
	if line := longestLine(req.Data); mode.Lines && line > osproc.MaxLine {
		return k, xerrors.Errorf("a line of the data has %d bytes, and the terminal would drop what exceeds %d; write it to a file that the program reads: %w", line, osproc.MaxLine, procmgr.ErrInvalid)
	}
	modes := in.modes()
	if modes.BracketedPaste && bytes.Contains(req.Data, []byte(pasteEnd)) {
		return k, xerrors.Errorf("the data has the mark that ends a pasted text, ESC [201~, and the program takes it for that: %w", procmgr.ErrInvalid)
	}
	pastes := modes.BracketedPaste && bytes.ContainsAny(req.Data, "\r\n")
	k.text = []byte(in.owing())
	k.prefix = len(k.text)
	if pastes {
		k.text = append(k.text, pasteBegin...)
	}
	k.data = len(k.text)
	k.text = append(k.text, req.Data...)
	k.end = len(k.text)
	if pastes {
		k.text = append(k.text, pasteEnd...)
		k.pasted = len(k.text)
	}
	for _, key := range req.Keys {
		b, err := check.KeyBytes(key, modes.AppCursor)
		if err != nil {
			return k, err
		}
		k.text = append(k.text, b...)
	}
	if req.Close {
		// Within a line, the first one only hands over what was typed.
		if n := len(k.text); mode.Lines && n > 0 && k.text[n-1] != '\n' && k.text[n-1] != '\r' {
			k.text = append(k.text, mode.EOF)
		}
		k.text = append(k.text, mode.EOF)
	}
	return k, nil
}

// longestLine returns the length of the longest line.
func longestLine(p []byte) (longest int) {
	for line := range bytes.FieldsFuncSeq(p, func(r rune) bool { return r == '\n' || r == '\r' }) {
		longest = max(longest, len(line))
	}
	return longest
}
