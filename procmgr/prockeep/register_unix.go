//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"cmp"
	"context"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/check"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// errElsewhere is the error for a call that this keeper does not take, because another one
// has the ID or starts the processes now. Callers read the file again, and ask that one.
var errElsewhere = xerrors.Errorf("another keeper of the directory takes this call: %w", procmgr.ErrClosed)

// A register writes down what a keeper runs, in a directory in which the keeper is found.
type register struct {
	dir   string
	token string
	log   *slog.Logger
	web   *http.Server          // of the socket
	rules *procmgr.SandboxRules // nil for no sandbox

	mu     sync.Mutex // guards the fields below; held while the file is read and written
	socket *net.UnixListener
	file   fs.FileInfo // of the socket
	ids    *idFile
	limits baseenv.Limits // of the program that has opened the directory last
	seq    uint64
	late   []line // what could not be written so far
	ending bool   // nothing is claimed any more
}

// do calls f with the file at hand and read. If the directory, the socket or the file was
// removed, do makes it anew.
func (r *register) do(f func(t *table) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.listen(); err != nil {
		return err
	}
	if err := r.ids.join(); err != nil {
		return err
	}
	return f(&r.ids.table)
}

// listen makes the directory and the socket in it if they are not there. The caller holds
// mu.
func (r *register) listen() error {
	if err := makeDir(r.dir); err != nil {
		return err
	}
	path := socketPath(r.dir, r.token)
	if r.file != nil && isAt(path, r.file) {
		return nil
	}
	_ = os.Remove(path) // a copy
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	if err != nil {
		return err
	}
	l.SetUnlinkOnClose(false)
	if r.socket != nil {
		r.socket.Close()
	}
	r.socket = l
	go func() { _ = r.web.Serve(l) }() // until it is closed
	if r.file, err = os.Lstat(path); err != nil {
		return err
	}
	return os.Chmod(path, 0o600)
}

// line returns a line of this keeper about an ID.
func (r *register) line(kind string, key idKey, seq uint64) line {
	return line{Kind: kind, Keeper: r.token, At: time.Now().UnixMilli(), Seq: seq, Chat: key.chat, ID: key.id}
}

// claim writes the first line about an ID, unless there is one or admit, which may be nil,
// returns an error. The claim is this keeper's only if that line counts in the order of the
// file. The caller holds mu.
func (r *register) claim(t *table, mine line, admit func() error) (seq uint64, err error) {
	r.seq++
	mine.Seq = r.seq
	key := mine.key()
	switch c := t.claims[key]; {
	case c != nil && c.Kind == lineStop:
		return 0, errStopped
	case r.ending || t.newest != r.token || c != nil && c.Keeper != r.token:
		return 0, errElsewhere
	case c != nil:
		return 0, xerrors.Errorf("this ID was used before; take another one: %w", procmgr.ErrConflict)
	case admit != nil:
		if err := admit(); err != nil {
			return 0, err
		}
	}
	err = r.ids.append(mine)
	if err == nil && !r.ids.current() { // it was removed meanwhile, and the new one has to have the claim, too
		err = r.ids.join()
	}
	if err != nil {
		r.writeLater(r.line(lineForget, key, mine.Seq)) // it may be there all the same
		return 0, err
	}
	if c := t.claims[key]; c == nil || c.Keeper != r.token || c.Seq != mine.Seq {
		return 0, errElsewhere
	}
	return mine.Seq, nil
}

// writeLater writes a line, now if it is possible. The caller holds mu.
func (r *register) writeLater(l line) {
	r.late = append(r.late, l)
	if err := r.writeLate(); err != nil {
		r.log.Warn("the end of a process was not written down so far", slog.String("error", err.Error()))
	}
}

// writeLate writes the lines that could not be written. The caller holds mu.
func (r *register) writeLate() error {
	if len(r.late) == 0 {
		return nil
	}
	err := r.ids.join()
	if err == nil {
		err = r.ids.append(r.late...) // a line that is there already counts for nothing
	}
	if err == nil {
		r.late = nil
	}
	return err
}

const (
	defaultMaxRunning        = 1024
	defaultMaxRunningPerChat = 64
)

// room returns an error if a limit is reached, which counts the processes of all keepers of
// the directory. chatMax is the limit of the chat; 0 is the keeper's, and a negative limit
// is none.
func (r *register) room(t *table, chat string, chatMax int) error {
	most := cmp.Or(r.limits.MaxRunning, defaultMaxRunning)
	chatMax = cmp.Or(chatMax, r.limits.MaxRunningPerChat, defaultMaxRunningPerChat)
	var own []string
	for _, c := range t.liveClaims(func(c *claim) bool { return c.Chat == chat }) {
		own = append(own, c.ID)
	}
	switch {
	case chat != "" && chatMax >= 0 && len(own) >= chatMax:
		return check.Full(chat, own, chatMax)
	case most >= 0 && len(t.live) >= most:
		return check.Full(chat, own, 0)
	}
	return nil
}

// A recorder is a keeper's view of its Local for the host or one chat: before a
// process is started or an ID is spent, it is written down.
type recorder struct {
	procmgr.Manager
	r    *register
	chat string
}

// Start implements [procmgr.Manager].
func (m recorder) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	if req.ID == "" {
		req.ID = procmgr.NewID()
	}
	r, key := m.r, idKey{m.chat, req.ID}
	came, age := time.Now(), req.Age
	req.Age = 0 // the file knows more IDs than the Local
	var from baseenv.Origin
	asked := baseenv.From(ctx)
	if asked != nil {
		from = *asked
	}
	var seq uint64 // of the claim
	from.Claim = func(l osproc.Lineage) error {
		if asked == nil {
			return xerrors.Errorf("prockeep: start: no program that has opened the directory asks for it: %w", procmgr.ErrInvalid)
		}
		start := r.line(lineStart, key, 0)
		start.Print, start.Lineage = fingerprint(req), &l
		return r.do(func(t *table) (err error) {
			seq, err = r.claim(t, start, func() error {
				return cmp.Or(check.Age(check.Older(age, came), time.UnixMilli(t.whole+1)), r.room(t, m.chat, from.MaxRunning))
			})
			return err
		})
	}
	from.Refused = func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if seq != 0 {
			r.writeLater(r.line(lineForget, key, seq))
		}
	}
	from.Ended = func(p procmgr.Process) {
		r.mu.Lock()
		defer r.mu.Unlock()
		end := r.line(lineEnd, key, seq)
		end.At, end.Code, end.Signal, end.EndedBy = p.ExitedAt.UnixMilli(), p.ExitCode, p.Signal, p.EndedBy
		r.writeLater(end)
	}
	return m.Manager.Start(baseenv.With(ctx, &from), req)
}

// Signal implements [procmgr.Manager]. A stop of an ID that has no claim spends it.
func (m recorder) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	if check.ID(id) != nil || m.chat != "" && check.Chat(m.chat) != nil {
		return m.Manager.Signal(ctx, id, sig) // it says why
	}
	err := m.r.do(func(t *table) (err error) {
		c := t.claims[idKey{m.chat, id}]
		switch {
		case m.chat == "" && len(t.started(id)) > 0: // the Local finds it
		case c != nil && c.Keeper != m.r.token:
			return errElsewhere
		case c == nil && (sig == procmgr.Terminate || sig == procmgr.Kill):
			_, err = m.r.claim(t, m.r.line(lineStop, idKey{m.chat, id}, 0), nil)
		}
		return err
	})
	if err != nil {
		return xerrors.Errorf("prockeep: signal %q: %w", id, err)
	}
	return m.Manager.Signal(ctx, id, sig)
}

// Describe implements [procmgr.Manager]. The Local names no rules to the host, because it
// has a PerChat.
func (m recorder) Describe(ctx context.Context) (procmgr.Description, error) {
	d, err := m.Manager.Describe(ctx)
	if err == nil {
		d.Sandbox = m.r.rules
	}
	return d, err
}
