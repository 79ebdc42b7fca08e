package holder

import (
	"context"
	"log/slog"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/carry"
)

const (
	// giveTime is how long the holder may take nothing before a keeper goes on
	// without it.
	giveTime = 3 * time.Second
	// dropTime is how long descriptors that are dropped stay with the holder, so
	// that one message drops many.
	dropTime = 5 * time.Millisecond
	// welcomeTime is how long the holder may take to give what it has.
	welcomeTime = 20 * time.Second
)

// A Link is the keeper's side of the connection to its holder. If the holder has
// died or takes nothing, the keeper goes on without it: Give and Drop do nothing
// then, and every end that is awaited is unknown. It is safe for concurrent use.
type Link struct {
	conn *conn
	log  *slog.Logger
	gone chan struct{} // closed when there is no holder any more

	sending sync.Mutex // held while a message is sent

	mu      sync.Mutex // guards the fields below
	left    bool
	awaited map[uint64]chan carry.Status
	drops   message
	timer   *time.Timer
	ready   chan string   // the answer to an upgrade
	stored  chan struct{} // the answer to a state
}

// Attach connects a keeper with its holder, and waits for what that has. check is
// called first if this program is that of an upgrade: it says whether this program
// can take over from a keeper that has called Upgrade with the same text. It waits
// for the end of that keeper then.
func Attach(log *slog.Logger, check func(text string) error) (*Link, *Heritage, error) {
	unix.CloseOnExec(FDLink)
	c, err := newConn(FDLink)
	if err != nil {
		return nil, nil, err
	}
	l := &Link{conn: c, log: log, gone: make(chan struct{}), awaited: make(map[uint64]chan carry.Status), ready: make(chan string, 1), stored: make(chan struct{}, 1)}
	h, err := l.welcome(check)
	if err != nil {
		c.close()
		return nil, nil, err
	}
	go l.listen() // until the holder or this program ends
	return l, h, nil
}

// welcome receives what the holder has.
func (l *Link) welcome(check func(string) error) (*Heritage, error) {
	_ = l.conn.file.SetReadDeadline(time.Now().Add(welcomeTime)) // a socket has deadlines
	var h Heritage
	for {
		p, err := l.conn.receive()
		if err != nil {
			return nil, xerrors.Errorf("the holder has gone: %w", err)
		}
		r := &reading{rest: p.data[1:]}
		switch p.data[0] {
		case sayCheck:
			err := checkVersion(r.number())
			if err == nil {
				err = check(string(r.rest))
			}
			wrong := ""
			if err != nil {
				wrong = err.Error()
			}
			if err := l.conn.send(message{tellChecked}.text(wrong), nil, giveTime); err != nil {
				return nil, err
			}
			_ = l.conn.file.SetReadDeadline(time.Time{}) // the keeper before this one may take its time
		case sayHello:
			_ = l.conn.file.SetReadDeadline(time.Now().Add(welcomeTime)) // a socket has deadlines
			if err := checkVersion(r.number()); err != nil {
				return nil, err
			}
			h.Generation = int(r.number())
			flags := r.number()
			h.Crash, h.Fallback, h.Unsure = flags&flagCrash != 0, flags&flagFallback != 0, flags&flagUnsure != 0
			h.Ending = flags&flagEnding != 0
			if flags&flagState != 0 {
				if h.State = p.takeFile(0); h.State == nil {
					return nil, xerrors.New("the state was not received")
				}
			}
		case sayHeld:
			seq := r.number()
			for i := 0; r.more(); i++ {
				role := r.text()
				if fd := p.take(i); fd >= 0 {
					h.Held = append(h.Held, Held{seq, role, fd})
				}
			}
		case sayDead:
			for r.more() {
				h.Strays = append(h.Strays, Stray{int(r.number()), int(r.number()), r.number() != 0})
			}
		case sayTrapped:
			for r.more() {
				h.Trapped = append(h.Trapped, int(r.number()))
			}
		case sayAll:
			_ = l.conn.file.SetReadDeadline(time.Time{}) // from now on it waits for what happens
			return &h, nil
		}
		p.close()
	}
}

// checkVersion returns an error if the holder speaks another version than this program.
func checkVersion(version uint64) error {
	if version == Version {
		return nil
	}
	return xerrors.Errorf("the holder speaks version %d of its protocol, and this program version %d: upgrade the keeper with a program of its version, or stop it, which ends its processes", version, Version)
}

// listen reads what the holder says.
func (l *Link) listen() {
	for {
		p, err := l.conn.receive()
		if err != nil {
			l.leave("the holder has ended")
			return
		}
		r := &reading{rest: p.data[1:]}
		switch p.data[0] {
		case sayEnded:
			seq := r.number()
			known := r.more()
			e := r.end()
			l.ended(seq, e, known && !r.bad)
		case sayReady:
			put(l.ready, r.text())
		case sayStored:
			put(l.stored, struct{}{})
		}
		p.close()
	}
}

// put puts a value into a channel with room for one, in place of an old one.
func put[T any](c chan T, v T) {
	select {
	case <-c:
	default:
	}
	c <- v
}

func (l *Link) ended(seq uint64, e carry.Status, known bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.awaited[seq]; c != nil {
		if known {
			c <- e
		}
		close(c)
		delete(l.awaited, seq)
	}
}

// leave goes on without a holder.
func (l *Link) leave(why string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left {
		return
	}
	l.left = true
	for _, c := range l.awaited {
		close(c)
	}
	l.awaited, l.drops = nil, nil
	close(l.gone)
	l.conn.finish()
	l.conn.close()
	l.log.Warn("the keeper goes on without a holder: its own death loses processes", slog.String("why", why))
}

// Gone is closed when there is no holder any more.
func (l *Link) Gone() <-chan struct{} { return l.gone }

// send sends a message. If the holder does not take it, the keeper leaves it.
func (l *Link) send(m message, fds []int) error {
	l.sending.Lock()
	err := l.conn.send(m, fds, giveTime)
	l.sending.Unlock()
	if err != nil {
		l.leave(err.Error())
	}
	return err
}

// Give lets the holder duplicate files of a process, in place of those of the same
// role. An error says that there is no holder.
func (l *Link) Give(seq uint64, roles []string, fds []int) error {
	l.flush()
	m := message{tellGive}.number(seq)
	for _, role := range roles {
		m = m.text(role)
	}
	return l.send(m, fds)
}

// Drop lets the holder close the file of a role, a moment later.
func (l *Link) Drop(seq uint64, role string) { l.drop(seq, role) }

// DropAll lets the holder close all files of a process, a moment later.
func (l *Link) DropAll(seq uint64) { l.drop(seq, roleAll) }

// Forget lets the holder forget a process, a moment later.
func (l *Link) Forget(seq uint64) { l.drop(seq, roleEnd) }

func (l *Link) drop(seq uint64, role string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left {
		return
	}
	if len(l.drops) == 0 {
		l.drops = message{tellDrop}
		if l.timer == nil {
			l.timer = time.AfterFunc(dropTime, l.flush)
		} else {
			l.timer.Reset(dropTime)
		}
	}
	l.drops = l.drops.number(seq).text(role)
	if len(l.drops) > maxMessage/2 {
		l.timer.Reset(0)
	}
}

// flush sends what was dropped.
func (l *Link) flush() {
	l.mu.Lock()
	all := l.drops
	l.drops = nil
	l.mu.Unlock()
	for len(all) > 0 {
		// Drops that came while the timer was late do not fit into one message.
		some := all
		if len(all) > maxMessage {
			some = firstDrops(all)
		}
		if l.send(some, nil) != nil {
			return
		}
		if len(some) == len(all) {
			return
		}
		all = append(message{tellDrop}, all[len(some):]...)
	}
}

// firstDrops returns as many drops as fit into one message.
func firstDrops(all message) message {
	r := &reading{rest: all[1:]}
	end := 1
	for r.more() {
		r.number()
		_ = r.text()
		if next := len(all) - len(r.rest); r.bad || next > maxMessage {
			break
		} else {
			end = next
		}
	}
	return all[:end]
}

// Leaders lets the holder keep the ends of some leaders that keepers before this one
// have started, by seq in ascending order. It is called before Settle.
func (l *Link) Leaders(seqs []uint64, pids map[uint64]uint64) {
	m := message{tellLeaders}
	for i, seq := range seqs {
		m = m.number(seq).number(pids[seq])
		if len(m) > maxMessage/2 || i == len(seqs)-1 {
			_ = l.send(m, nil) // without a holder all ends are unknown
			m = message{tellLeaders}
		}
	}
}

// Await returns a channel that gets the end of a leader which a keeper before this
// one has started. It is closed if nobody knows the end, and also after the end.
func (l *Link) Await(seq uint64, pid int) <-chan carry.Status {
	c := make(chan carry.Status, 1)
	l.mu.Lock()
	if before := l.awaited[seq]; before != nil {
		close(before)
	}
	if l.left {
		l.mu.Unlock()
		close(c)
		return c
	}
	l.awaited[seq] = c
	l.mu.Unlock()
	_ = l.send(message{tellAwait}.number(seq).number(uint64(pid)), nil) // if it fails, the channel is closed
	return c
}

// Settle tells that this keeper serves. The holder then drops the state of the
// keeper before it, and reaps what nobody awaits. If the keeper could not write down
// what it has found out about these, no later one is sure of the Strays.
func (l *Link) Settle(written bool) {
	m := message{tellSettle}
	if !written {
		m = m.number(unwritten)
	}
	_ = l.send(m, nil) // without a holder there is nothing to drop
}

// End tells that this keeper ends for good. Its exit code is 0 when it has done so:
// after any other end, the next keeper goes on with it.
func (l *Link) End() {
	l.flush()
	_ = l.send(message{tellEnd}, nil) // without a holder nobody starts another one
}

// Upgrade lets the holder start the next program, which checks the text. If it
// returns nil, that program is ready to take over as soon as this one ends, after
// Store and Commit. When ctx ends, the upgrade is given up.
func (l *Link) Upgrade(ctx context.Context, program *os.File, text string) error {
	select {
	case <-l.ready: // of an upgrade that was given up
	default:
	}
	if l.send(append(message{tellUpgrade}, text...), []int{fdOf(program)}) != nil {
		return errNoHolder
	}
	select {
	case wrong := <-l.ready:
		if wrong != "" {
			return xerrors.Errorf("the new program cannot go on for the keeper: %s", wrong)
		}
		return nil
	case <-l.gone:
		return errNoHolder
	case <-ctx.Done():
		l.Cancel()
		return ctx.Err()
	case <-time.After(checkTime + giveTime):
		l.Cancel()
		return xerrors.New("the holder does not answer")
	}
}

var errNoHolder = xerrors.New("there is no holder any more")

// Cancel gives up an upgrade: the next program is ended, and no state counts.
func (l *Link) Cancel() { _ = l.send(message{tellCancel}, nil) } // without a holder there is no upgrade

// Store gives the holder a state. It counts only after Commit. If the holder does
// not have it in time, the keeper leaves the holder, so that the state never
// counts.
func (l *Link) Store(state *os.File) error {
	l.flush()
	select {
	case <-l.stored:
	default:
	}
	if err := l.send(message{tellState}, []int{fdOf(state)}); err != nil {
		return err
	}
	select {
	case <-l.stored:
		return nil
	case <-l.gone:
		return errNoHolder
	case <-time.After(giveTime):
		l.leave("the holder does not take the state")
		return errSilent
	}
}

// Commit makes the state count. The caller ends its program at once if it returns
// nil.
func (l *Link) Commit() error { return l.send(message{tellCommit}, nil) }
