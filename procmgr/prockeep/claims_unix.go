//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/check"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// errElsewhere is the error for an ID that another keeper has. Callers read the file
// again, and ask that one. errReplaced and errEnding are for a start that this keeper
// does not take any more; it has started nothing.
var (
	errElsewhere = xerrors.Errorf("another keeper of the directory has this ID: %w", procmgr.ErrClosed)
	errReplaced  = xerrors.Errorf("another keeper starts the processes of the directory now: %w", procmgr.ErrClosed)
	errEnding    = xerrors.Errorf("the keeper is about to end: %w", procmgr.ErrClosed)
)

// A register writes down what a keeper runs.
type register struct {
	token    string
	boot     string
	identity identity
	log      *slog.Logger

	mu     sync.Mutex // guards the fields below; held while the file is read and written
	ids    idWriter
	limits limits
	seq    uint64
	late   []line // ends that could not be written so far
	ending bool   // nothing is claimed any more
}

// do calls f with the file at hand and read.
func (r *register) do(f func(t *table) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.ids.join(); err != nil {
		return err
	}
	return f(&r.ids.table)
}

// A start is a claim that is being made.
type start struct {
	r     *register
	from  *origin
	key   idKey
	print string
	seq   uint64 // 0 before the claim
}

// claim writes a start line, and returns an error unless this keeper may run the ID by
// it. osproc may call it again for the same start.
func (s *start) claim(l osproc.Lineage) error {
	r := s.r
	l.Boot = r.boot
	return r.do(func(t *table) error {
		first := s.seq == 0
		switch {
		case r.ending:
			return errEnding
		case t.newest != r.token:
			return errReplaced
		case s.from == nil || s.from.Identity == nil:
			return xerrors.Errorf("this caller was made by Find and starts nothing, use Open: %w", procmgr.ErrInvalid)
		}
		if field := r.identity.differs(s.from.Identity); field != "" {
			return conflict(field)
		}
		if first {
			if err := taken(t.claims[s.key], r.token); err != nil {
				return err
			}
			if err := r.room(t, s.key.chat); err != nil {
				return err
			}
			r.seq++
			s.seq = r.seq
		}
		if err := r.ids.append(s.line(lineStart, l)); err != nil {
			s.forget()
			return err
		}
		// Only a line that counts in the order of the file is a claim.
		if c := t.claims[s.key]; c == nil || c.Keeper != r.token || c.Seq != s.seq {
			s.seq = 0
			if t.newest != r.token {
				return errReplaced
			}
			return taken(c, r.token)
		}
		if !r.ids.current() { // it was removed meanwhile, and the new one has to have the claim, too
			return r.ids.join()
		}
		return nil
	})
}

// taken returns the error for an ID that has a claim, or nil.
func taken(c *claim, token string) error {
	switch {
	case c == nil:
		return nil
	case c.Kind == lineStop:
		return errStopped
	case c.Keeper != token:
		return errElsewhere
	}
	return xerrors.Errorf("this ID was used before; take another one: %w", procmgr.ErrConflict)
}

func (s *start) line(kind string, l osproc.Lineage) line {
	return line{
		Kind: kind, Keeper: s.r.token, At: time.Now().UnixMilli(), Seq: s.seq,
		Chat: s.key.chat, ID: s.key.id, Print: s.print, Lineage: &l,
	}
}

// started writes the start line again, with the PID. Without it, the process is found
// by the rest of the evidence.
func (s *start) started(l osproc.Lineage) {
	l.Boot = s.r.boot
	if err := s.r.do(func(*table) error { return s.r.ids.append(s.line(lineStart, l)) }); err != nil {
		s.r.log.Warn("a PID was not written down", slog.String("process_id", s.key.id), slog.String("error", err.Error()))
	}
}

// refused is called if nothing runs.
func (s *start) refused() {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	if s.seq != 0 {
		s.forget()
	}
}

// forget takes a claim back. The caller holds mu.
func (s *start) forget() {
	s.r.writeLater(line{Kind: lineForget, Keeper: s.r.token, Seq: s.seq, Chat: s.key.chat, ID: s.key.id})
	s.seq = 0
}

// ended is called when nothing is left of the process.
func (s *start) ended(p procmgr.Process) {
	s.r.mu.Lock()
	defer s.r.mu.Unlock()
	s.r.writeLater(line{
		Kind: lineEnd, Keeper: s.r.token, At: p.ExitedAt.UnixMilli(), Seq: s.seq,
		Chat: s.key.chat, ID: s.key.id, Code: p.ExitCode, Signal: p.Signal, EndedBy: p.EndedBy,
	})
}

// writeLater writes lines, now if it is possible. The caller holds mu.
func (r *register) writeLater(lines ...line) {
	r.late = append(r.late, lines...)
	if err := r.writeLate(); err != nil {
		r.log.Warn("the end of a process was not written down so far", slog.String("error", err.Error()))
	}
}

// writeLate writes the lines that could not be written. The caller holds mu.
func (r *register) writeLate() error {
	for len(r.late) > 0 {
		if err := r.ids.join(); err != nil {
			return err
		}
		if err := r.ids.append(r.late[0]); err != nil {
			return err
		}
		r.late = r.late[1:]
	}
	r.late = nil
	return nil
}

const (
	defaultMaxRunning        = 1024
	defaultMaxRunningPerChat = 64
)

// room returns an error if a limit is reached, which counts the processes of all keepers
// of the directory.
func (r *register) room(t *table, chat string) error {
	over := func(limit, byDefault, n int, where string) error {
		if limit == 0 {
			limit = byDefault
		}
		if limit < 0 || n < limit {
			return nil
		}
		ids := t.runningIn(chat, 5)
		if len(ids) == 0 {
			return xerrors.Errorf("%d processes run %s, which is the limit; try again when some have ended: %w", limit, where, procmgr.ErrLimit)
		}
		return xerrors.Errorf("%d processes run %s, which is the limit; end one of this chat's first (the oldest are %s): %w",
			limit, where, strings.Join(ids, ", "), procmgr.ErrLimit)
	}
	if chat != "" {
		if err := over(r.limits.MaxRunningPerChat, defaultMaxRunningPerChat, t.running[chat], "in this chat"); err != nil {
			return err
		}
	}
	return over(r.limits.MaxRunning, defaultMaxRunning, t.runningInAll(), "on this host")
}

// runningIn returns the IDs of the oldest running processes of a chat.
func (t *table) runningIn(chat string, most int) (ids []string) {
	for _, key := range t.order {
		if c := t.claims[key]; key.chat == chat && c != nil && c.end == nil && !slices.Contains(ids, key.id) {
			if len(ids) == most {
				return append(ids, "…")
			}
			ids = append(ids, key.id)
		}
	}
	return ids
}

// A registered is a keeper's view of its Local for the host or one chat: before a
// process is started or an ID is spent, it is written down.
type registered struct {
	procmgr.Manager
	r    *register
	chat string
}

// Start implements [procmgr.Manager].
func (m registered) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	if req.ID == "" {
		req.ID = procmgr.NewID()
	}
	s := &start{r: m.r, from: received(ctx), key: idKey{m.chat, req.ID}, print: fingerprint(req)}
	o := &baseenv.Origin{Claim: s.claim, Started: s.started, Refused: s.refused, Ended: s.ended}
	if s.from != nil {
		o.Env, o.Withheld, o.Secrets, o.Dir = s.from.Env, s.from.Withheld, s.from.Secrets, s.from.Dir
	}
	return m.Manager.Start(baseenv.With(ctx, o), req)
}

// Signal implements [procmgr.Manager].
func (m registered) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	if check.ID(id) != nil || m.chat != "" && check.Chat(m.chat) != nil {
		return m.Manager.Signal(ctx, id, sig) // it says why
	}
	key := idKey{m.chat, id}
	err := m.r.do(func(t *table) error {
		if m.chat == "" && len(t.chats[id]) > 0 {
			return nil // the Local finds it
		}
		if t.claims[key] == nil && (sig == procmgr.Terminate || sig == procmgr.Kill) {
			if m.r.ending {
				return errEnding
			}
			if t.newest != m.r.token {
				return errReplaced
			}
			m.r.seq++
			stop := line{Kind: lineStop, Keeper: m.r.token, At: time.Now().UnixMilli(), Seq: m.r.seq, Chat: m.chat, ID: id}
			if err := m.r.ids.append(stop); err != nil {
				return err
			}
			if t.claims[key] == nil {
				return errReplaced
			}
		}
		if c := t.claims[key]; c != nil && c.Keeper != m.r.token {
			return errElsewhere
		}
		return nil
	})
	if err != nil {
		return xerrors.Errorf("prockeep: signal %q: %w", id, err)
	}
	return m.Manager.Signal(ctx, id, sig)
}

// A registeredHost is the Host that a keeper serves.
type registeredHost struct {
	registered
	local procmgr.Host
}

func (r *register) host(local procmgr.Host) procmgr.Host {
	return registeredHost{registered{local, r, ""}, local}
}

// Chat implements [procmgr.Host].
func (h registeredHost) Chat(id string) procmgr.Manager {
	return registered{h.local.Chat(id), h.r, id}
}
