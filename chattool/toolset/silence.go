package toolset

import (
	"context"
	"fmt"
	"time"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/chattool/toolset/internal/notices"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// quietReads is how many reads in a row show nothing new when a result says
	// that in one line, and slowReads from which on such a read waits longer.
	quietReads = 3
	slowReads  = 5
	// slowRead is how long such a read waits at least, unless something happens.
	slowRead = 30 * time.Second
)

// A silence is a read of a process that may show nothing new, as many before it.
// Each read costs the whole conversation once more, however short its result is.
type silence struct {
	kit    *kit
	m      procmgr.Manager
	req    procmgr.OutputRequest // as the model has asked
	quiet  bool                  // nothing new may be told in one line
	waited time.Duration         // if the read has waited for longer than was asked for
}

// wait lets a read that shows nothing new wait on, if many before it did not either.
// out and err are its outcome so far, which wait returns or replaces by a later one.
func (s *silence) wait(ctx context.Context, out procmgr.Output, err error) (procmgr.Output, error) {
	most := min(slowRead, s.kit.opts.MaxTimeout)
	more := most - max(s.req.Wait, 0)
	p := out.Process
	if err != nil || !s.quiet || more <= 0 || !alive(p) || p.State == "" || s.happened(out) || ctx.Err() != nil ||
		s.kit.memory.Silence(s.conversation(out), resultOf(out, s.req.From)).Reads < slowReads {
		return out, err
	}
	began := time.Now()
	last, ok := s.readOn(ctx, out, more)
	if !ok {
		return out, nil // it is as good as without the wait
	}
	s.waited = max(s.req.Wait, 0) + time.Since(began).Round(time.Millisecond)
	return last, nil
}

// readOn waits until anything happens to a process, and reads again. It reports false
// if it could not.
func (s *silence) readOn(ctx context.Context, out procmgr.Output, most time.Duration) (last procmgr.Output, ok bool) {
	p := out.Process
	news := procmgr.OutputRequest{From: out.Next, Wait: most, State: p.State, Until: ".", UntilListening: s.req.UntilListening}
	news.UntilWaiting = p.Stdin != procmgr.StdinEmpty
	news.Limit.Bytes = 1
	if _, err := s.m.Output(ctx, p.ID, news); err != nil || ctx.Err() != nil {
		return last, false
	}
	again := s.req
	again.Wait = 0
	last, err := s.m.Output(ctx, p.ID, again)
	if last.Process.ID == "" {
		last.Process.ID = p.ID
	}
	return last, err == nil
}

// happened reports whether what a read waited for has come, or whether the process
// waits for the model.
func (s *silence) happened(out procmgr.Output) bool {
	if out.Matched || out.Waiting != nil { // the answer is the model's to give
		return true
	}
	for _, l := range out.Listening {
		if s.req.UntilListening < 0 || s.req.UntilListening > 0 && portOf(l) == s.req.UntilListening {
			return true
		}
	}
	return false
}

func (s *silence) conversation(out procmgr.Output) notices.Conversation {
	return notices.ConversationOf(s.m, out.Process.ChatID)
}

// tell says in a report that there is nothing new, if it is so for the third time.
func (s *silence) tell(r *report, out procmgr.Output) {
	p := out.Process
	if !alive(p) || p.State == "" || r.Screen != nil {
		return
	}
	row := s.kit.memory.Read(s.conversation(out), resultOf(out, s.req.From))
	r.read = true
	if s.waited > 0 {
		r.Add("This read waited %s, longer than asked for: those before it showed nothing new, and each costs the whole conversation once more.", wording.Brief(s.waited))
	}
	if !s.quiet || s.happened(out) || row.Reads < quietReads {
		return
	}
	r.Quiet, r.Reads, r.LogPath = max(row.Lasts, time.Millisecond), false, ""
	s.kit.lastTook(r, s.m, p)
	r.Notes = append([]string{s.hint(out)}, r.Notes...)
}

// hint names what is better than to ask again and again.
func (s *silence) hint(out procmgr.Output) string {
	longest := ""
	if s.kit.opts.MaxTimeout != noLimit {
		longest = " up to " + wording.Duration(s.kit.opts.MaxTimeout)
	}
	hint := fmt.Sprintf("to wait in one call, set wait_for or a wait_timeout%s", longest)
	if s.kit.ledger.Watches(s.conversation(out), out.Process.ID) {
		hint += fmt.Sprintf("; with notify_on of %s you are told without asking", s.kit.names.execute)
	}
	return hint
}
