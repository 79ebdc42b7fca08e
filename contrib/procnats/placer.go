package procnats

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// placedTime is how long a Placer answers from memory.
	placedTime = time.Minute
	// maxPlaced is how many chats it remembers.
	maxPlaced = 1 << 16
	// maxChat is the limit of a chat's ID in bytes.
	maxChat = 256
	// placeTime is how long requests to the bucket are repeated while its servers do
	// not answer, as when they elect a leader, and placeTryTime how long one answer may
	// take.
	placeTime    = 15 * time.Second
	placeTryTime = 3 * time.Second
	// shortPause is the pause before a Placer reads again what another has just
	// written, and before it repeats a request. It doubles, up to longPause.
	shortPause = 5 * time.Millisecond
	longPause  = 250 * time.Millisecond
	// markerTime is how long the bucket keeps the marker of a chat that was
	// forgotten.
	markerTime = time.Hour
)

// A ChooseFunc chooses the machine of a new chat, by its name. machines has the
// machines that have answered, sorted by their names; the function may change the list.
// It may return another name, such as a machine that it has just created, and take its
// time for that. It is called from several goroutines at a time, and its choice may be
// dropped because another agent was faster.
type ChooseFunc func(ctx context.Context, chat string, machines []Machine) (host string, err error)

// LeastLoad chooses the machine that has the fewest processes for each processor,
// or calls, if it does not tell its processes. Each chat that was placed there in
// the meantime counts as one more. If several machines have the fewest, it is any
// of them.
func LeastLoad(_ context.Context, _ string, machines []Machine) (string, error) {
	if len(machines) == 0 {
		return "", errNoMachines
	}
	machines = slices.Clone(machines)
	rand.Shuffle(len(machines), func(i, j int) { machines[i], machines[j] = machines[j], machines[i] })
	return slices.MinFunc(machines, func(a, b Machine) int { return cmp.Compare(a.busy(), b.busy()) }).Name, nil
}

// busy is what LeastLoad compares.
func (m Machine) busy() float64 {
	return float64(max(m.Load.Running, m.Load.Calls)+m.Placed) / float64(max(m.Load.CPUs, 1))
}

// placeKey is the key of a chat in the bucket: the token of its subjects.
func placeKey(chat string) (string, error) {
	if len(chat) == 0 || len(chat) > maxChat || !utf8.ValidString(chat) || strings.ContainsFunc(chat, unicode.IsControl) {
		return "", xerrors.Errorf("a chat's ID has 1 to 256 bytes of UTF-8 without control characters: %w", procmgr.ErrInvalid)
	}
	return chats.EncodeToString([]byte(chat)), nil
}

var errNoMachines = xerrors.New("no machine has answered")

// A Placer remembers on which machine each chat is, in a key-value bucket of
// JetStream. It is safe for concurrent use, and so is one bucket for any number
// of agents: the first of two that place a chat wins, and both get its choice.
//
// A place is for ever: until [Placer.Move] or [Placer.Forget]. Place does not ask
// whether the machine is there. If it has left, the calls of the chat fail, and
// their errors name the machine.
type Placer struct {
	bucket jetstream.KeyValue
	choose ChooseFunc
	census *census

	mu      sync.Mutex // guards the fields below
	places  map[string]seenPlace
	placing map[string]chan struct{} // the chats that a call is just placing; closed when it is over
}

// A seenPlace is where a chat was.
type seenPlace struct {
	host string
	at   time.Time
}

// PlacesConfig returns the configuration of a bucket for a [Placer]. The administrator of
// the server creates the bucket with it, and may change it first, such as Replicas in a
// cluster. [Placer.Forget] needs LimitMarkerTTL.
func PlacesConfig(bucket string) jetstream.KeyValueConfig {
	return jetstream.KeyValueConfig{
		Bucket:         bucket,
		Description:    "toolproc: the machine of each chat",
		History:        1,
		LimitMarkerTTL: markerTime,
	}
}

// NewPlacer returns a Placer that uses a bucket, which has to exist, see
// [PlacesConfig], and lets choose decide; nil is [LeastLoad].
func NewPlacer(js jetstream.JetStream, bucket string, choose ChooseFunc) (*Placer, error) {
	ctx := context.Background()
	kv, err := insist(ctx, func() (jetstream.KeyValue, error) {
		return briefly(ctx, func(ctx context.Context) (jetstream.KeyValue, error) { return js.KeyValue(ctx, bucket) })
	})
	if err != nil {
		return nil, xerrors.Errorf("procnats: new placer: bucket %q: %w", bucket, err)
	}
	if choose == nil {
		choose = LeastLoad
	}
	return &Placer{
		bucket:  kv,
		choose:  choose,
		census:  newCensus(js.Conn()),
		places:  make(map[string]seenPlace),
		placing: make(map[string]chan struct{}),
	}, nil
}

// Place returns the name of the machine of a chat, and places the chat if it has none
// yet. While the servers of the bucket do not answer, it asks again, for 15 s at most.
// If it returns an error, the chat may have been placed, and the next Place tells
// where. A chat's ID follows the rules of [procmgr.Host].
//
// For a minute Place answers from memory. So after a Move by another agent it may
// return the former machine for as long.
func (p *Placer) Place(ctx context.Context, chat string) (host string, err error) {
	for {
		host, other, done := p.remembered(chat)
		switch {
		case host != "":
			return host, nil
		case other == nil:
			defer done()
			if host, err = p.put(ctx, chat, nil); err != nil {
				return "", xerrors.Errorf("procnats: place %.80q: %w", chat, err)
			}
			p.remember(chat, host)
			return host, nil
		}
		select {
		case <-other:
		case <-ctx.Done():
			return "", xerrors.Errorf("procnats: place %.80q: %w", chat, ctx.Err())
		}
	}
}

// put places a chat anew if it is on from, or if from is nil and it has no place. It
// returns where the chat is then.
func (p *Placer) put(ctx context.Context, chat string, from *string) (string, error) {
	key, err := placeKey(chat)
	if err != nil {
		return "", err
	}
	return insist(ctx, func() (string, error) {
		entry, err := briefly(ctx, func(ctx context.Context) (jetstream.KeyValueEntry, error) {
			return p.bucket.Get(ctx, key)
		})
		known, but := err == nil, ""
		switch {
		case err != nil && !errors.Is(err, jetstream.ErrKeyNotFound):
			return "", err
		case known && (from == nil || string(entry.Value()) != *from):
			return string(entry.Value()), nil
		case known:
			but = *from
		case from != nil:
			return "", xerrors.Errorf("the chat has no machine: %w", procmgr.ErrNotFound)
		}
		host, err := p.chosen(ctx, chat, but)
		if err != nil {
			return "", err
		}
		_, err = briefly(ctx, func(ctx context.Context) (uint64, error) {
			if known {
				return p.bucket.Update(ctx, key, []byte(host), entry.Revision())
			}
			return p.bucket.Create(ctx, key, []byte(host))
		})
		if err == nil {
			p.census.placed(host)
		}
		return host, err
	})
}

// errLate is the error of a request to the bucket that got no answer in time.
var errLate = xerrors.New("the servers of the bucket do not answer")

// briefly makes a request to the bucket, and waits placeTryTime for its answer.
func briefly[T any](ctx context.Context, ask func(context.Context) (T, error)) (T, error) {
	one, cancel := context.WithTimeout(ctx, placeTryTime)
	defer cancel()
	value, err := ask(one)
	if err != nil && one.Err() != nil {
		err = errLate
		if ctx.Err() != nil {
			err = ctx.Err()
		}
	}
	return value, err
}

// insist calls a function until it returns no error that passes: while servers
// elect a leader, they do not answer; and if another agent was faster, a replica
// may not know it yet. An attempt whose answer was lost may have had its effect,
// so each one reads first.
func insist[T any](ctx context.Context, try func() (T, error)) (value T, err error) {
	var silent time.Time // since when there is no answer; zero: there was one
	for pause := shortPause; ; pause = min(2*pause, longPause) {
		value, err = try()
		switch {
		case errors.Is(err, jetstream.ErrKeyExists): // what a wrong revision matches, too
			silent = time.Time{}
		case err == nil || !passing(err):
			return value, err
		case silent.IsZero():
			silent = time.Now()
		case time.Since(silent) > placeTime:
			return value, err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return value, ctx.Err()
		}
	}
}

// passing reports whether the same request may have another answer soon.
func passing(err error) bool {
	var api *jetstream.APIError
	return errors.Is(err, errLate) || errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse) ||
		errors.Is(err, nats.ErrTimeout) || errors.Is(err, nats.ErrDisconnected) ||
		errors.Is(err, nats.ErrConnectionReconnecting) ||
		errors.As(err, &api) && api.Code == http.StatusServiceUnavailable
}

// Move places a chat anew, on another machine than from, and returns where the
// chat is then. If the chat is not on from any more, Move changes nothing. A chat
// that has no place is [procmgr.ErrNotFound].
//
// The processes of the chat do not move. Those on from go on if it lives, and the
// IDs that ran there are new on the other machine. So Move only if from has gone
// for good, or after the processes of the chat have been ended. An agent that has routed
// the chat to from starts no ID that is older than the move by its StartRequest.Age.
func (p *Placer) Move(ctx context.Context, chat, from string) (host string, err error) {
	host, err = p.put(ctx, chat, &from)
	if err != nil {
		return "", xerrors.Errorf("procnats: move %.80q from %q: %w", chat, from, err)
	}
	p.remember(chat, host)
	return host, nil
}

// Forget drops the place of a chat that is over, if it has one. A chat with this ID is placed
// anew. Forget only what has no processes: their calls would go elsewhere.
func (p *Placer) Forget(ctx context.Context, chat string) error {
	key, err := placeKey(chat)
	if err == nil {
		err = p.bucket.Purge(ctx, key, jetstream.PurgeTTL(markerTime))
	}
	if err != nil {
		return xerrors.Errorf("procnats: forget %.80q: %w", chat, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.places, chat)
	return nil
}

// Machines returns the machines that answer, sorted by their names. The list is
// 2 s old at most, and 10 s if another call is just asking for it.
func (p *Placer) Machines(ctx context.Context) ([]Machine, error) {
	all, err := p.census.now(ctx)
	if err != nil {
		return nil, xerrors.Errorf("procnats: machines: %w", err)
	}
	return all, nil
}

// chosen returns the machine that choose wants, among all but one.
func (p *Placer) chosen(ctx context.Context, chat, but string) (string, error) {
	all, err := p.census.now(ctx)
	if err != nil {
		return "", err
	}
	all = slices.DeleteFunc(all, func(m Machine) bool { return m.Name == but })
	host, err := p.choose(ctx, chat, all)
	if err != nil {
		return "", xerrors.Errorf("choose: %w", err)
	}
	if host == but {
		return "", xerrors.Errorf("the machine to leave was chosen: %w", procmgr.ErrInvalid)
	}
	return host, checkName(host)
}

// remembered returns where a chat was less than placedTime ago. If that is unknown and
// another call is finding out, it returns a channel that is closed when the other call
// is over. If there is no such call, the caller has to find out, and then call done.
func (p *Placer) remembered(chat string) (host string, other <-chan struct{}, done func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if seen, ok := p.places[chat]; ok && time.Since(seen.at) < placedTime {
		return seen.host, nil, nil
	}
	if other := p.placing[chat]; other != nil {
		return "", other, nil
	}
	over := make(chan struct{})
	p.placing[chat] = over
	return "", nil, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.placing, chat)
		close(over)
	}
}

// remember notes where a chat is, and forgets any other one if there are too
// many.
func (p *Placer) remember(chat, host string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, ok := p.places[chat]; !ok && len(p.places) >= maxPlaced {
		for other := range p.places {
			delete(p.places, other)
			break
		}
	}
	p.places[chat] = seenPlace{host: host, at: time.Now()}
}
