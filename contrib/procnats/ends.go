package procnats

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// endsToken stands in a subject where the name of a machine stands otherwise.
	endsToken = "ends"
	// endsStream is the name of the stream of ends.
	endsStream = "TOOLPROC_ENDS"
	// endsAtOnce is how many ends wait for the server at a time.
	endsAtOnce = 64
	// endsWait is how long the publisher waits for an event before it asks again.
	endsWait = time.Minute
	// ackTime is how long the server may take to say that it keeps an end.
	ackTime = 5 * time.Second
	// firstPause is the pause after the first failure. Each later one is twice as
	// long, up to lastPause.
	firstPause = 100 * time.Millisecond
	lastPause  = 5 * time.Second
)

// EndsConfig returns the configuration of the JetStream stream TOOLPROC_ENDS. The
// administrator of the server creates the stream with it, and may change it first. It
// keeps an end for seven days, at most 1,024 of a chat on a machine and 1 GiB in all,
// and denies the deletion of messages.
func EndsConfig() jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              endsStream,
		Description:       "the ends of processes",
		Subjects:          []string{root + "." + endsToken + ".*.*"},
		MaxAge:            7 * 24 * time.Hour,
		MaxMsgsPerSubject: 1024, // no chat pushes out the ends of another one
		MaxBytes:          1 << 30,
		Duplicates:        2 * time.Minute,
		DenyDelete:        true,
		DenyPurge:         true,
	}
}

// EndsSubject returns the subject of the ends of a chat, on every machine. It is
// the filter of a consumer, see [jetstream.ConsumerConfig].
func EndsSubject(chatID string) string {
	return root + "." + endsToken + ".*." + chatToken(chatID)
}

// An End says that nothing is left of a process.
type End struct {
	// Host is the name of the machine.
	Host string `json:"host"`
	// Key names the end: if a message comes twice, it has the same key. Keys of
	// two machines, or of two chats, may be the same.
	Key string `json:"key"`
	// At is when the process ended. If the machine had to look it up in its list
	// because it was cut off for too long, it is the process's ExitedAt.
	At time.Time `json:"at"`
	// Process is the process as it was then, see [procmgr.Event].
	Process procmgr.Process `json:"process"`
}

// ParseEnd reads a message of the stream TOOLPROC_ENDS. It fails if the data name
// another machine or chat than the subject.
func ParseEnd(msg jetstream.Msg) (End, error) {
	var e End
	t := strings.Split(msg.Subject(), ".")
	if len(t) != 4 || t[0] != root || t[1] != endsToken {
		return End{}, xerrors.Errorf("procnats: parse end: the subject %.80q is of no end: %w", msg.Subject(), procmgr.ErrInvalid)
	}
	if err := json.Unmarshal(msg.Data(), &e); err != nil {
		return End{}, xerrors.Errorf("procnats: parse end: %v: %w", err, procmgr.ErrInvalid)
	}
	if e.Host != t[2] || chatToken(e.Process.ChatID) != t[3] || e.Process.ID == "" {
		return End{}, xerrors.Errorf("procnats: parse end: the message is of another machine or chat than its subject: %w", procmgr.ErrInvalid)
	}
	return e, nil
}

// newEnd returns the end of a process that has exited.
func newEnd(host string, at time.Time, p procmgr.Process) End {
	// An ID runs once in the memory of a machine. A process that is revived exits
	// again, and a machine that has lost its memory may run the ID again.
	return End{Host: host, Key: p.ID + "." + strconv.FormatInt(p.ExitedAt.UnixNano(), 36), At: at, Process: p}
}

func (e End) subject() string {
	return root + "." + endsToken + "." + e.Host + "." + chatToken(e.Process.ChatID)
}

// A publisher publishes the ends of a Host.
type publisher struct {
	nc   *nats.Conn
	js   jetstream.JetStream
	name string
	host procmgr.Manager
	log  *slog.Logger
}

// run publishes until ctx ends, or until the Host is closed and all of its ends
// are published. last ends the waits: what has happened by then is published.
func (p *publisher) run(ctx, last context.Context) {
	var after string // behind the events whose ends the server has
	pause := firstPause
	for ctx.Err() == nil {
		wait := endsWait
		if last.Err() != nil {
			wait = 0
		}
		page, err := p.page(ctx, last, procmgr.EventsRequest{After: after, Wait: wait, Limit: endsAtOnce})
		switch {
		case errors.Is(err, procmgr.ErrClosed):
			return
		case errors.Is(err, errors.ErrUnsupported):
			p.log.LogAttrs(ctx, slog.LevelError, "no ends are published, because the host does not tell of events", slog.String("error", err.Error()))
			return
		case err != nil && last.Err() != nil && ctx.Err() == nil && wait > 0:
			continue // once more, without a wait
		case err != nil:
			p.log.LogAttrs(ctx, slog.LevelWarn, "the events of the host cannot be read", slog.String("error", err.Error()))
			pause = p.rest(ctx, pause)
			continue
		}
		pause = firstPause
		ends, err := p.ends(ctx, page)
		if err != nil {
			p.log.LogAttrs(ctx, slog.LevelWarn, "the list of the host cannot be read", slog.String("error", err.Error()))
			pause = p.rest(ctx, pause)
			continue // with the same page, which has the gap again
		}
		p.publish(ctx, ends)
		after = page.Next
		if last.Err() != nil && len(page.Events) == 0 {
			return
		}
	}
}

// page waits for events until last ends.
func (p *publisher) page(ctx, last context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if req.Wait > 0 {
		defer context.AfterFunc(last, cancel)()
	}
	return p.host.Events(ctx, req)
}

// ends returns the ends of a page. If the page has a gap, they begin with those
// of the list: most of them are told twice, with the same key.
func (p *publisher) ends(ctx context.Context, page procmgr.EventPage) ([]End, error) {
	var ends []End
	if page.Gap {
		p.log.LogAttrs(ctx, slog.LevelWarn, "events were dropped before they could be published; their ends are looked up, and lost if the process was forgotten too")
		all, err := p.host.List(ctx, procmgr.ListRequest{})
		if err != nil {
			return nil, err
		}
		for _, process := range all.Processes {
			if process.State == procmgr.Exited {
				process.Command = shorten(process.Command)
				ends = append(ends, newEnd(p.name, process.ExitedAt, process))
			}
		}
		// A list begins with the newest. Of many ends, the oldest are published first.
		slices.SortStableFunc(ends, func(a, b End) int { return a.At.Compare(b.At) })
	}
	for _, e := range page.Events {
		if e.Kind == procmgr.EventExited {
			ends = append(ends, newEnd(p.name, e.At, e.Process))
		}
	}
	return ends, nil
}

// shorten cuts a command as events do.
func shorten(command string) string {
	const most = 256
	if len(command) <= most {
		return command
	}
	return strings.ToValidUTF8(command[:most], "") + "…"
}

// publish returns when the server has all of some ends, or when ctx ends.
func (p *publisher) publish(ctx context.Context, ends []End) {
	for len(ends) > 0 && ctx.Err() == nil {
		some := ends[:min(len(ends), endsAtOnce)]
		ends = ends[len(some):]
		for pause := firstPause; len(some) > 0 && ctx.Err() == nil; {
			var err error
			if some, err = p.try(ctx, some); err != nil {
				p.log.LogAttrs(ctx, slog.LevelWarn, "ends are not published yet", slog.Int("ends", len(some)), slog.String("error", err.Error()))
				pause = p.rest(ctx, pause)
			}
		}
	}
}

// try publishes ends concurrently, and returns the ends that the server has not
// acknowledged, with the error of one of them.
func (p *publisher) try(ctx context.Context, ends []End) (left []End, failed error) {
	if !p.nc.IsConnected() {
		return ends, xerrors.New("there is no connection to NATS")
	}
	ctx, cancel := context.WithTimeout(ctx, ackTime)
	defer cancel()
	errs := make([]error, len(ends))
	var wg sync.WaitGroup
	for i, e := range ends {
		wg.Go(func() {
			data, err := json.Marshal(e)
			if err == nil {
				_, err = p.js.PublishMsg(ctx, &nats.Msg{Subject: e.subject(), Data: data},
					jetstream.WithMsgID(e.subject()+"."+e.Key), jetstream.WithExpectStream(endsStream))
			}
			errs[i] = err
		})
	}
	wg.Wait()
	for i, err := range errs {
		switch {
		case errors.Is(err, nats.ErrMaxPayload):
			p.log.LogAttrs(ctx, slog.LevelError, "an end is too long for NATS, and is lost",
				slog.String("chat_id", ends[i].Process.ChatID), slog.String("process_id", ends[i].Process.ID))
		case err != nil:
			left, failed = append(left, ends[i]), err
		}
	}
	return left, failed
}

// rest waits for a pause, and returns the next one.
func (p *publisher) rest(ctx context.Context, pause time.Duration) time.Duration {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
	return min(2*pause, lastPause)
}
