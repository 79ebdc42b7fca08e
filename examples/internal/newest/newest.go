// Package newest shows what a process prints while a call of the agent waits for it.
package newest

import (
	"context"
	"iter"
	"strings"
	"time"
	"unicode"

	"github.com/toolproc/toolproc/procmgr"
)

// Lines yields the newest line of a process whenever it is another one, from an
// offset on, and not more often than once in a time. It ends with ctx and with the
// process. A process that has not started yet is waited for.
func Lines(ctx context.Context, m procmgr.Manager, id string, from int64, every time.Duration) iter.Seq[string] {
	return func(yield func(string) bool) {
		opts := &procmgr.FollowOptions{From: from, Every: every, Limit: 256 << 10, Await: true}
		line, shown := "", "" // the newest line as read so far
		// This comes first: most commands end before it, and cost nothing here.
		select {
		case <-ctx.Done():
			return
		case <-time.After(every):
		}
		for chunk, err := range procmgr.Follow(ctx, m, id, opts) {
			if err != nil || chunk.Process.State == procmgr.Exited {
				return // the result of the call has the rest
			}
			line += chunk.Text
			if newest := last(line + chunk.Live); newest != "" && newest != shown {
				if shown = newest; !yield(newest) {
					return
				}
			}
			line = line[strings.LastIndexByte(line, '\n')+1:]
			line = line[max(0, len(line)-4<<10):]
		}
	}
}

// last returns the last line of a text that is not blank.
func last(text string) string {
	text = strings.TrimSpace(text)
	return strings.TrimSpace(text[strings.LastIndexByte(text, '\n')+1:])
}

// Plain removes the characters that make a terminal do more than show text or that
// reverse the order of a line. Line ends and tabs stay.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' || unicode.Is(unicode.Bidi_Control, r) || r == '\u2028' || r == '\u2029' {
			return -1
		}
		return r
	}, text)
}
