package procnats

import (
	"context"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/nats-io/nats.go"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/procroute"
)

// leftTime is how long a Router still names a machine that has left.
const leftTime = time.Hour

// A Router is a [procroute.Router] of the machines that [Serve] serves: give it to
// [procroute.New]. Each chat is where a [Placer] says, and each machine is
// reached over [Transport]. It is safe for concurrent use.
type Router struct {
	cuts   *cuts
	placer *Placer
	opts   prochttp.ClientOptions

	mu      sync.Mutex // guards the field below
	clients map[string]*machineClient
}

var _ procroute.Router = (*Router)(nil)

// A machineClient is a machine with its client, which is kept because it knows which IDs it
// has sent to which instance.
type machineClient struct {
	client *prochttp.Client
	used   time.Time // when it was last a chat's machine, or has answered
}

// NewRouter returns a Router. If opts is not nil, each machine's client has these
// options; their Transport is the machine's own. nc needs what it needs for
// [Transport].
func NewRouter(nc *nats.Conn, placer *Placer, opts *prochttp.ClientOptions) *Router {
	r := &Router{cuts: &cuts{nc: nc}, placer: placer, clients: make(map[string]*machineClient)}
	if opts != nil {
		r.opts = *opts
	}
	return r
}

// Host implements [procroute.Router].
func (r *Router) Host(ctx context.Context, chatID string) (procmgr.Host, error) {
	name, err := r.placer.Place(ctx, chatID)
	if err != nil {
		return nil, err
	}
	return r.client(name)
}

// Hosts implements [procroute.Router]. It has the machines that answer. A machine that
// has left is included for an hour after it was last used, so that a list without its
// processes comes with a [procmgr.PartialError] and they are not taken for ended.
func (r *Router) Hosts(ctx context.Context) (map[string]procmgr.Host, error) {
	all, err := r.placer.Machines(ctx)
	if err != nil {
		return nil, err
	}
	for _, m := range all {
		if _, err := r.client(m.Name); err != nil {
			return nil, err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	hosts := make(map[string]procmgr.Host, len(r.clients))
	for name, m := range r.clients {
		if time.Since(m.used) > leftTime {
			delete(r.clients, name)
			continue
		}
		hosts[name] = m.client
	}
	return hosts, nil
}

// client returns the client of a machine. There is one for each, so that all
// chats share what it knows of the machine's instances.
func (r *Router) client(name string) (*prochttp.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.clients[name]; m != nil {
		m.used = time.Now()
		return m.client, nil
	}
	opts := r.opts
	opts.Transport, opts.Dial, opts.TLS = newTransport(r.cuts, name), nil, nil
	client, err := prochttp.NewClient("http://localhost", &opts)
	if err != nil {
		return nil, xerrors.Errorf("procnats: machine %q: %w", name, err)
	}
	r.clients[name] = &machineClient{client: client, used: time.Now()}
	return client, nil
}
