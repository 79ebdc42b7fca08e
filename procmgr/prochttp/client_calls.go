package prochttp

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/check"
)

// Output implements [procmgr.Manager].
func (m *manager) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	out, err := m.output(ctx, id, req)
	return out, wrap("output", id, err)
}

// output reads the output of a process. It waits in slices.
func (m *manager) output(ctx context.Context, id string, req procmgr.OutputRequest) (out procmgr.Output, err error) {
	body := outputBody{ID: id, OutputRequest: req}
	if !utf8.ValidString(req.Against) {
		body.Against = ""
	}
	if req.Wait > 0 && (req.Until != "" || req.Wait > m.c.slice || req.State != "") {
		body.WaitID = newKey()
	}
	began := time.Now()
	for {
		var next procmgr.Output
		answer, err := m.c.call(ctx, &call{manager: m, id: id, path: pathOutput, into: &next, body: func() (any, time.Duration) {
			left := max(req.Wait-time.Since(began), 0)
			if body.WaitID != "" {
				// The server holds the wait, and this asks for its end, even if
				// the time is up by now. A request without a wait would not use
				// it: a From beyond the end would then mean the end by now.
				left = max(left, time.Millisecond)
				body.Left = left
			}
			body.Wait = min(left, m.c.slice)
			return body, body.Wait
		}})
		if err != nil {
			if answer != nil && answer.failure.Result != nil && m.isOf(answer.failure.Result.Process, id) {
				out = *answer.failure.Result
			}
			return out, m.explain(id, answer, err)
		}
		if err := answer.about(m, next.Process, id); err != nil {
			return out, err
		}
		out = next
		changed := body.State != "" && out.Process.State != body.State
		// A snapshot in the middle of a wait does not say what the pattern has
		// seen.
		ended := body.Left <= body.Wait || req.Until == ""
		if !answer.waiting || changed || ended && time.Since(began) >= req.Wait {
			return out, nil
		}
		body.State = out.Process.State
	}
}

// Input implements [procmgr.Manager]. If the answer is lost, the client asks again
// with the same key, so that nothing is written twice. If no answer comes at all,
// the error is [procmgr.ErrUnknown], and a caller that has chosen the key can ask
// again. If the Host behind the handler cannot write, the error is
// [errors.ErrUnsupported].
//
// A pipe that has taken a part of Data and is full is waited for as long as one
// request waits, 25 s at most: Written then says where to go on.
func (m *manager) Input(ctx context.Context, id string, req procmgr.InputRequest) (out procmgr.InputOutput, err error) {
	defer func() { err = wrap("input", id, err) }()
	if len(req.Data) > check.MaxInput {
		return out, xerrors.Errorf("the data has %d bytes, at most %d are allowed at a time: %w", len(req.Data), check.MaxInput, procmgr.ErrInvalid)
	}
	body := inputBody{id, req}
	if body.IdempotencyKey == "" {
		body.IdempotencyKey = newKey()
	}
	began := time.Now()
	for { // each request of a wait has the key of the first one, and writes nothing
		var next procmgr.InputOutput
		c := &call{manager: m, id: id, path: pathInput, into: &next, body: func() (any, time.Duration) {
			body.Wait = m.c.left(req.Wait, began)
			return body, body.Wait
		}}
		asked := time.Now()
		answer, err := m.c.call(ctx, c)
		if err != nil {
			// The program did not take the input within this slice, and nothing
			// was written.
			notYet := answer != nil && answer.failure.Code == codeNotReady && answer.failure.Result == nil
			if notYet && time.Since(asked) >= body.Wait && time.Since(began) < req.Wait {
				continue
			}
			return m.inputFailed(ctx, c, answer, out, err)
		}
		if err := answer.about(m, next.Process, id); err != nil {
			return out, err
		}
		changed := out.Process.ID != "" && next.Process.State != out.Process.State
		out = next
		// What was not taken in one slice is for another key, and so for the
		// caller.
		waits := req.Until != "" || req.UntilQuiet > 0 || req.UntilWaiting
		if !answer.waiting || changed || out.Written < len(req.Data) || !waits || time.Since(began) >= req.Wait {
			return out, nil
		}
	}
}

// inputFailed returns what is known of an input that failed. out is the answer
// to an earlier request of the same input.
func (m *manager) inputFailed(ctx context.Context, c *call, answer *answer, out procmgr.InputOutput, err error) (procmgr.InputOutput, error) {
	switch {
	case answer != nil && answer.failure.Result != nil && m.isOf(answer.failure.Result.Process, c.id):
		return procmgr.InputOutput{Output: *answer.failure.Result, Written: answer.failure.Written}, err
	case c.retry.phase == unsure && (answer == nil || !errors.Is(err, procmgr.ErrNotReady) && !errors.Is(err, procmgr.ErrConflict)):
		// Other refusals tell nothing of the attempt before them, whose answer was lost.
		return out, unknown(xerrors.Errorf("the input may have been written: %w", err))
	}
	return out, m.explain(c.id, answer, err)
}

// List implements [procmgr.Manager].
func (m *manager) List(ctx context.Context, req procmgr.ListRequest) (_ procmgr.ListPage, err error) {
	defer func() { err = wrap("list", "", err) }()
	var page procmgr.ListPage
	answer, err := m.c.call(ctx, &call{manager: m, path: pathList, body: once(req), into: &page})
	switch {
	case err != nil && answer != nil && answer.failure.List != nil:
		page = *answer.failure.List // some machines are missing, and err names them
	case err != nil:
		return procmgr.ListPage{}, err
	case answer.unread != nil:
		return procmgr.ListPage{}, answer.unread
	}
	for _, p := range page.Processes {
		if m.isChat && p.ChatID != m.chat {
			return procmgr.ListPage{}, errMixedUp
		}
	}
	return page, err
}

// Events implements [procmgr.Manager]. If the Host behind the handler has no
// events, the error is [errors.ErrUnsupported].
//
// If an answer is lost, the client asks again, and no event is lost with it. If
// the server was restarted, the page has Gap once.
func (m *manager) Events(ctx context.Context, req procmgr.EventsRequest) (_ procmgr.EventPage, err error) {
	defer func() { err = wrap("events", "", err) }()
	began := time.Now()
	body := req
	body.After = strings.ToValidUTF8(body.After, "?") // no page ends like this either
	// Reading takes no event away, so that a slice needs nothing of the one before but the
	// place in which that ended.
	for {
		var page procmgr.EventPage
		answer, err := m.c.call(ctx, &call{manager: m, path: pathEvents, into: &page, body: func() (any, time.Duration) {
			body.Wait = m.c.left(req.Wait, began)
			return body, body.Wait
		}})
		if err != nil {
			if answer == nil || answer.failure.Page == nil {
				return procmgr.EventPage{}, err
			}
			page = *answer.failure.Page // some machines are missing, and err names them
			return page, cmp.Or(m.own(page), err)
		}
		if err := cmp.Or(answer.unread, m.own(page)); err != nil {
			return procmgr.EventPage{}, err
		}
		if !answer.waiting || time.Since(began) >= req.Wait {
			return page, nil
		}
		body.After = page.Next
	}
}

// own returns an error if a page has events of another chat.
func (m *manager) own(page procmgr.EventPage) error {
	for _, e := range page.Events {
		if m.isChat && e.Process.ChatID != m.chat {
			return errMixedUp
		}
	}
	return nil
}

// left returns how long the next request of a wait waits, which began at a time.
func (c *Client) left(wait time.Duration, began time.Time) time.Duration {
	return max(min(wait-time.Since(began), c.slice), 0)
}

// Describe implements [procmgr.Manager]. It describes the machine of the Host
// behind the handler. The answer is remembered until the server is restarted.
func (m *manager) Describe(ctx context.Context) (procmgr.Description, error) {
	d, err := m.describe(ctx)
	d.Sandbox = check.Sandbox(d.Sandbox) // the caller may change its own
	return d, wrap("describe", "", err)
}

func (m *manager) describe(ctx context.Context) (d procmgr.Description, err error) {
	if err := cmp.Or(ctx.Err(), m.check()); err != nil { // before the memory, in which "" is the host
		return d, err
	}
	all := &m.c.machines
	all.mu.Lock()
	d, known := all.known[machineOf{m.c.seen.now(), m.chat}]
	all.mu.Unlock()
	if known {
		return d, nil
	}
	answer, err := m.c.call(ctx, &call{manager: m, path: pathDescribe, body: once(struct{}{}), into: &d})
	if err == nil {
		err = answer.unread
	}
	if err != nil {
		return procmgr.Description{}, err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.known == nil || len(all.known) >= maxMachines {
		all.known = make(map[machineOf]procmgr.Description)
	}
	all.known[machineOf{answer.instance, m.chat}] = d
	return d, nil
}

// maxMachines is how many machines a client remembers. Beyond it, it asks again.
const maxMachines = 1024

// machines remember what is known of the machine of each chat.
type machines struct {
	mu    sync.Mutex // guards known
	known map[machineOf]procmgr.Description
}

type machineOf struct{ instance, chat string }
