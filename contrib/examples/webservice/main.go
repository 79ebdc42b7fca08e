// Command webservice is a web service that gives each of its users a chat of an agent, with
// a token, a directory, a quota and a stop button of the user's own.
//
// POST /chats/USER/calls is one tool call of a model. In a real service the agent loop makes
// it, in the server; everything else stays. So no model and no key are needed here:
//
//	$ mkdir state; HASH=$(printf %s "$TOKEN" | sha256sum | cut -d ' ' -f 1)
//	$ echo '{"alice":{"token_sha256":"'$HASH'","max_running":8}}' >state/users.json
//	$ go run ./webservice -state state &
//	$ curl -H "Authorization: Bearer $TOKEN" http://127.0.0.1:8080/chats/alice/calls \
//	    -d '{"id":"m1-c1","name":"execute","arguments":{"command":"make test"}}'
//	$ curl -H "Authorization: Bearer $TOKEN" -N http://127.0.0.1:8080/chats/alice/calls/m1-c1/output
//	$ curl -H "Authorization: Bearer $TOKEN" -X POST http://127.0.0.1:8080/chats/alice/stop
//
// A keeper runs the commands, so they survive a deploy: start the new version with -replace,
// route requests to it, and end the old one. Make the tokens with crypto/rand.Text. The
// user "operator" may also read /metrics.
//
// All commands run as one user of the system. With -sandbox (Linux, with bubblewrap), the
// commands of a chat reach no other chat's files, no keeper and no network. Without it,
// users have to trust each other.
package main

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"expvar"
	"flag"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/sandbox"
	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

type service struct {
	users  map[string]user // by the ID of the chat
	host   *prockeep.Host
	set    *toolset.Set
	log    *slog.Logger
	counts expvar.Map
}

// A user is an entry of users.json.
type user struct {
	TokenSHA256 string `json:"token_sha256"` // in lower-case hexadecimal digits
	MaxRunning  int    `json:"max_running"`  // processes at a time: 16 by default
	options     proclocal.ChatOptions
}

func main() {
	prockeep.Main(sandbox.FromJSON) // first: a program that was started as the keeper goes no further
	listen := flag.String("listen", "127.0.0.1:8080", "the address to listen on")
	state := flag.String("state", "state", "the directory of users.json, the keeper and the users' files")
	replace := flag.Bool("replace", false, "start commands in a new keeper, of this version")
	boxed := flag.Bool("sandbox", false, "hold the commands of each chat in a sandbox")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := &service{log: slog.New(slog.NewJSONHandler(os.Stderr, nil))}
	if err := s.run(ctx, *listen, *state, *replace, *boxed); err != nil {
		log.Fatal(err)
	}
}

var validName = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,63}$`)

// run serves until ctx ends.
func (s *service) run(ctx context.Context, listen, state string, replace, boxed bool) (err error) {
	if state, err = filepath.Abs(state); err != nil {
		return err
	}
	data, err := os.ReadFile(filepath.Join(state, "users.json"))
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, &s.users); err != nil {
		return err
	}
	for name, u := range s.users {
		if !validName.MatchString(name) {
			return xerrors.Errorf("users.json: %q is no name for a directory", name)
		}
		dir := filepath.Join(state, "files", name)
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		u.options = proclocal.ChatOptions{
			WorkDir:    dir,
			MaxRunning: cmp.Or(u.MaxRunning, 16),
			// Of the service's environment, PATH and the like, and nothing else.
			Env: &envpolicy.Policy{IncludeOnly: envpolicy.CoreNames(), Set: map[string]string{"HOME": dir}},
		}
		if boxed {
			box, err := sandbox.New(sandbox.Policy{
				Level: sandbox.Boundary, Write: []string{dir}, Hide: []string{state}, Network: sandbox.NoNetwork,
			})
			if err != nil {
				return err
			}
			defer func() { _ = box.Close() }() // the keeper has its own
			u.options.Sandbox = box
		}
		s.users[name] = u
	}
	s.host, err = prockeep.Open(ctx, filepath.Join(state, "keeper"), &prockeep.Options{
		Replace: replace,
		Logger:  s.log,
		Local: proclocal.Options{
			PerChat:     s.perChat,
			MaxRunning:  -1, // each user has a quota
			MaxLifetime: 12 * time.Hour,
			Logger:      s.log, // its lines have a chat_id
			Metrics: &proclocal.Metrics{
				Started: func() { s.counts.Add("started", 1) },
				Exited:  func(cause procmgr.Cause, _ time.Duration) { s.counts.Add("exited_"+string(cause), 1) },
				Refused: func(error) { s.counts.Add("refused", 1) },
			},
		},
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.host.Close()) }() // the processes go on
	s.set, err = toolset.New(
		func(ctx context.Context) (procmgr.Manager, error) { return s.host.Chat(chatOf(ctx)), nil },
		&toolset.Options{
			MaxTimeout: 10 * time.Minute, // of a call, and so of a request
			ProcessID:  func(ctx context.Context, c toolset.Call) string { return processID(ctx, c.ID) },
		})
	if err != nil {
		return err
	}
	return s.serve(ctx, listen)
}

func (s *service) serve(ctx context.Context, listen string) error {
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return err
	}
	s.log.Info("listening", slog.String("addr", listener.Addr().String()))
	server := &http.Server{
		Handler: s.handler(), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		BaseContext: func(net.Listener) context.Context { return ctx }, // ends the streams
	}
	failed := make(chan error, 1)
	go func() { failed <- server.Serve(listener) }() // until Shutdown or Close
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	// A call that waits for longer is cut off. It can be sent again, to the next instance.
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if server.Shutdown(grace) != nil {
		return server.Close()
	}
	return nil
}

func (s *service) perChat(_ context.Context, chat string) (*proclocal.ChatOptions, error) {
	if u, ok := s.users[chat]; ok {
		return &u.options, nil
	}
	return nil, xerrors.Errorf("there is no such user: %w", procmgr.ErrRefused)
}

// chatKey is the key of the chat's ID in a context. Only admit sets it.
type chatKey struct{}

// chatOf returns the ID of the chat, or "", with which every call is refused.
func chatOf(ctx context.Context) string {
	id, _ := ctx.Value(chatKey{}).(string)
	return id
}

// processID returns the ID of a call's process. It is the same when the call is sent again,
// after a lost answer or a deploy, so the command does not run again.
func processID(ctx context.Context, callID string) string {
	return toolset.StableID(chatOf(ctx), callID)
}

func (s *service) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("POST /chats/{chat}/calls", s.admit(s.call))
	mux.Handle("GET /chats/{chat}/calls/{id}/output", s.admit(s.follow))
	mux.Handle("POST /chats/{chat}/stop", s.admit(s.stop))
	mux.Handle("GET /metrics", s.admit(func(w http.ResponseWriter, _ *http.Request) { reply(w, json.RawMessage(s.counts.String())) }))
	return mux
}

// admit lets in the user of a chat, or the operator. An unknown chat looks like a wrong token.
func (s *service) admit(next http.HandlerFunc) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		chat := cmp.Or(r.PathValue("chat"), "operator")
		token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		sum := sha256.Sum256([]byte(token))
		hash := hex.EncodeToString(sum[:])
		if !isBearer || subtle.ConstantTimeCompare([]byte(hash), []byte(s.users[chat].TokenSHA256)) == 0 {
			s.log.Warn("unauthorized", slog.String("chat_id", chat), slog.String("remote", r.RemoteAddr))
			http.Error(w, "unauthorized", http.StatusUnauthorized)
			return
		}
		next(w, r.WithContext(context.WithValue(r.Context(), chatKey{}, chat)))
	})
}

// call carries out a tool call. Each has an ID of its own.
func (s *service) call(w http.ResponseWriter, r *http.Request) {
	var c toolset.Call
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, 1<<20)).Decode(&c); err != nil || c.ID == "" {
		http.Error(w, "the body is no call with an id", http.StatusBadRequest)
		return
	}
	res := s.set.Call(context.WithoutCancel(r.Context()), c) // who closes the page stops nothing
	reply(w, map[string]any{"content": res.Content, "is_error": res.IsError})
}

// follow streams what the process of a call prints, as server-sent events. The keeper has
// the output, so a client that a deploy has cut off goes on at the next instance.
func (s *service) follow(w http.ResponseWriter, r *http.Request) {
	id := processID(r.Context(), r.PathValue("id"))
	from, _ := strconv.ParseInt(r.Header.Get("Last-Event-ID"), 10, 64)
	w.Header().Set("Content-Type", "text/event-stream")
	opts := &procmgr.FollowOptions{From: from, Await: true}
	for chunk, err := range procmgr.Follow(r.Context(), s.host.Chat(chatOf(r.Context())), id, opts) {
		if err != nil {
			return
		}
		text, _ := json.Marshal(chunk.Text) // a string always marshals
		_, _ = fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", chunk.Next, chunk.Process.State, text)
		if http.NewResponseController(w).Flush() != nil {
			return
		}
	}
}

// stop ends what the chat runs in the foreground.
func (s *service) stop(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), 10*time.Second)
	defer cancel()
	stopped, err := s.set.Stop(ctx)
	if err != nil {
		http.Error(w, procmgr.Reason(err), http.StatusBadGateway)
		return
	}
	reply(w, map[string]any{"stopped": len(stopped)})
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // fails if the client has gone
}
