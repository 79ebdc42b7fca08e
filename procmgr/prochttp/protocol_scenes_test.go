package prochttp_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// A scene is a handler in the state that some exchanges of the page need.
type scene struct {
	host   procmgr.Host
	opts   prochttp.HandlerOptions
	before func(n int, h http.Handler, url string) // the nth exchange
	after  func()                                  // all of them
}

// An actor is a Host with fixed answers. A call about a process panics if there is neither
// an answer nor an error, and is then not answered as the page says: a request that must be
// refused has reached the host.
type actor struct {
	t       testing.TB
	chat    string // the chat of the call
	want    any    // the request of the call; nil: any
	out     procmgr.InputOutput
	list    []procmgr.Process
	page    procmgr.EventPage
	machine procmgr.Description
	err     error
}

// answers makes a scene with a host that is called with a request.
func answers(want any, a actor) func(testing.TB) scene {
	return func(t testing.TB) scene {
		a.t, a.want = t, want
		return scene{host: a}
	}
}

func (a actor) Chat(id string) procmgr.Manager { a.chat = id; return a }

// answer answers a call about a process, which belongs to the chat of the call.
func (a actor) answer(verb, id string, req any) (procmgr.InputOutput, error) {
	p := &a.out.Process
	switch {
	case a.want != nil:
		assert.Equal(a.t, a.want, req)
	case p.ID == "" && a.err == nil:
		panic("the host has a fault")
	}
	if p.ID != "" {
		assert.Equal(a.t, p.ID, id)
		p.ChatID = a.chat
	}
	return a.out, callerr.Wrap(verb, id, a.err)
}

func (a actor) Start(_ context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	out, err := a.answer("start", req.ID, req)
	return out.Output, err
}

func (a actor) Output(_ context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	out, err := a.answer("output", id, req)
	return out.Output, err
}

func (a actor) Input(_ context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	return a.answer("input", id, req)
}

func (a actor) Signal(_ context.Context, id string, sig procmgr.Signal) error {
	_, err := a.answer("signal", id, sig)
	return err
}

func (a actor) List(_ context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	page, wrong := procmgr.PageOf(a.list, req)
	return page, callerr.Wrap("list", "", cmp.Or(a.err, wrong))
}

func (a actor) Describe(context.Context) (procmgr.Description, error) {
	return a.machine, callerr.Wrap("describe", "", a.err)
}

func (a actor) Events(_ context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	if a.want != nil {
		assert.Equal(a.t, a.want, req)
	}
	page := a.page
	page.Events = slices.Clone(page.Events)
	for i := range page.Events {
		page.Events[i].Process.ChatID = a.chat
	}
	return page, callerr.Wrap("events", "", a.err)
}

// at is a time on the page.
func at(ms int) time.Time {
	return time.Date(2025, time.March, 14, 9, 26, 53, 589_793_238, time.UTC).Add(time.Duration(ms) * time.Millisecond)
}

// made is the build on the page: it has failed.
func made() procmgr.InputOutput {
	code, ended := 2, at(3140)
	return about(procmgr.Output{
		Process: procmgr.Process{
			ID: "k7qv2mzp4a", Command: "make test", WorkDir: "/srv/project", PID: 4711,
			State: procmgr.Exited, ExitCode: &code, EndedBy: procmgr.CauseExit,
			StartedAt: at(0), ExitedAt: ended, Elapsed: ended.Sub(at(0)),
		},
		Text: "go test ./...\nok  \texample/a\nFAIL\texample/b\nmake: *** [Makefile:3: test] Error 1\n",
		Next: 81,
	})
}

// about is the answer to a call that is no input.
func about(out procmgr.Output) procmgr.InputOutput { return procmgr.InputOutput{Output: out} }

// changed is an answer with a change.
func changed(out procmgr.InputOutput, change func(out *procmgr.Output)) procmgr.InputOutput {
	change(&out.Output)
	return out
}

// web is the server on the page: it runs.
func web() procmgr.InputOutput {
	return about(procmgr.Output{
		Process: procmgr.Process{
			ID: "web", Command: "npm start", WorkDir: "/srv/web", Background: true, PID: 4752,
			State: procmgr.Running, StartedAt: at(8000), Elapsed: 20 * time.Millisecond,
		},
		Text: "> web@1.0.0 start <\n\n",
		Next: 21,
	})
}

// listening is the line that this server prints next.
func listening() procmgr.InputOutput {
	out := web()
	out.Text, out.Next = "listening on :3000\n", 40
	out.Matched, out.MatchedLine, out.MatchedAt = true, "listening on :3000", 21
	return out
}

// python is the interpreter on the page: it has got a line.
func python() procmgr.InputOutput {
	return procmgr.InputOutput{
		Output: procmgr.Output{
			Process: procmgr.Process{
				ID: "repl", Command: "python3 -i", WorkDir: "/srv/project", Background: true, PID: 4790,
				State: procmgr.Running, StartedAt: at(9000), Elapsed: 350 * time.Millisecond,
			},
			Text: "42\n>>> ",
			Next: 91,
		},
		Written: 11,
	}
}

// refused is a scene in which no request reaches the host.
func refused(testing.TB) scene { return scene{} }

// ending is a scene with a server that is about to end.
func ending(testing.TB) scene {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return scene{opts: prochttp.HandlerOptions{Context: ctx}}
}

// firstStart is the first start of the page.
var firstStart = procmgr.StartRequest{
	ID: "k7qv2mzp4a", Command: "make test", WorkDir: "/srv/project", Env: map[string]string{"GOFLAGS": "-race"},
	Wait: 10 * time.Second, Limit: headtail.Limits{Bytes: 16384, Line: 1024},
}

// lastEvents is the Next of the events on the page.
const lastEvents = "YQ3F6HJD2N7KBW5XTMZL4CPRVS.21"

// fails makes a scene with a host that answers every call with an error.
func fails(err error) func(testing.TB) scene { return answers(nil, actor{err: err}) }

var scenes = map[string]func(testing.TB) scene{
	"start": answers(firstStart, actor{out: made()}),
	"background": answers(procmgr.StartRequest{ID: "web", Command: "npm start", Background: true, Wait: 200 * time.Millisecond},
		actor{out: web()}),
	"again":  answers(firstStart, actor{out: changed(made(), func(out *procmgr.Output) { out.Attached = true })}),
	"output": answers(procmgr.OutputRequest{From: 21, Wait: 10 * time.Second, Until: `listening on :\d+`}, actor{out: listening()}),
	"ports": answers(procmgr.OutputRequest{From: 40, Wait: 10 * time.Second, UntilListening: 3000},
		actor{out: changed(web(), func(out *procmgr.Output) {
			out.Text, out.Next, out.Listening = "", 40, []procmgr.Socket{{Addr: "127.0.0.1:3000", PID: 4760}}
		})}),
	"events": answers(procmgr.EventsRequest{After: "YQ3F6HJD2N7KBW5XTMZL4CPRVS.17", Wait: 25 * time.Second, Limit: 50},
		actor{page: procmgr.EventPage{Next: lastEvents, Events: []procmgr.Event{
			{At: made().Process.ExitedAt, Kind: procmgr.EventExited, Process: made().Process},
			{At: at(8200), Kind: procmgr.EventMatched, Process: web().Process, Line: "listening on :3000"},
		}}}),
	"gap": answers(procmgr.EventsRequest{After: "from-another-server", Wait: 25 * time.Second},
		actor{page: procmgr.EventPage{Next: lastEvents, Gap: true}}),
	"quiet": func(t testing.TB) scene { return scene{host: quiet{actor{t: t}}} },
	"truncated": answers(procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 80}}, actor{out: changed(made(), func(out *procmgr.Output) {
		b := headtail.New(1<<10, 1<<10)
		_, _ = io.WriteString(b, out.Text) // it has no error
		out.Text, out.Truncated = b.Snapshot(0).Text(headtail.Limits{Bytes: 80})
	})}),
	"highlights": answers(procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 80}, Highlight: 1000}, actor{out: changed(made(), func(out *procmgr.Output) {
		out.Text = "cc -c module1.c\n\n\n... [omitted 20480 bytes] ...\n\nmake: *** [all] Error 2\n"
		out.Truncated = &headtail.Truncation{OriginalBytes: 20520, RetainedBytes: 40, OmittedBytes: 20480, Strategy: "head_tail",
			Cuts: []headtail.Cut{{From: 16, To: 20496, At: 16, Len: len("\n\n... [omitted 20480 bytes] ...\n\n")}}}
		out.Next = 20520
		out.Highlights = []procmgr.Highlight{{Line: 1176, Offset: 18304, Text: "module147.c:7:13: error: 'struct item' has no member named 'length'\n    7 | if (items[i].length == size)", Count: 2}}
	})}),
	"list": func(testing.TB) scene {
		first, second := made().Process, web().Process
		first.ChatID, second.ChatID = "chat-42", "team a/42"
		return scene{host: actor{list: []procmgr.Process{first, second}}}
	},
	"input": answers(procmgr.InputRequest{IdempotencyKey: "VJ7RCKQ2", Data: []byte("print(6*7)\n"), Until: "^42$", Wait: 10 * time.Second},
		actor{out: changed(python(), func(out *procmgr.Output) { out.Matched, out.MatchedLine, out.MatchedAt = true, "42", 84 })}),
	"repeated": answers(procmgr.InputRequest{IdempotencyKey: "VJ7RCKQ2", Data: []byte("print(6*7)\n")}, actor{out: python()}),
	"signal":   answers(procmgr.Terminate, actor{out: web()}),
	"stop":     fails(procmgr.ErrNotFound),
	"stopped":  fails(xerrors.Errorf("it was stopped before it began, so nothing was run; take another ID to run it after all: %w", procmgr.ErrConflict)),
	"describe": answers(nil, actor{machine: procmgr.Description{
		Shell: "bash", OS: "linux", Sandbox: &procmgr.SandboxRules{Write: []string{"/work"}, NoNetwork: true},
	}}),
	"health":   refused,
	"shutdown": ending,
	"slices": func(t testing.TB) scene {
		host := printing{actor{t: t, out: changed(web(), func(out *procmgr.Output) { out.Text = "" })}, make(chan struct{})}
		return scene{host: host, before: func(n int, _ http.Handler, _ string) {
			if n == 2 {
				close(host.printed)
			}
		}}
	},
	"restarted": refused,

	"invalid":    refused,
	"badchat":    refused,
	"twice":      refused,
	"notfound":   fails(procmgr.ErrNotFound),
	"notrunning": fails(procmgr.ErrNotRunning),
	"not-ready":  fails(xerrors.Errorf("no program asks for a secret: none has turned the echo of the terminal off to read a line, so nothing was written: %w", procmgr.ErrNotReady)),
	"conflict":   fails(xerrors.Errorf("this ID ran another command, directory or environment; take another ID: %w", procmgr.ErrConflict)),
	"limit":      fails(xerrors.Errorf("64 processes run in this chat, and its limit is 64; end one of this chat's first (the oldest are web, k7qv2mzp4a): %w", procmgr.ErrLimit)),
	"refused":    fails(xerrors.Errorf("commands are not run between 6 pm and 6 am: %w", procmgr.ErrRefused)),
	"closed":     ending,
	"unknown": answers(nil, actor{
		out: about(procmgr.Output{Process: procmgr.Process{ID: "t2xv6bq3rm"}}),
		err: xerrors.Errorf("nothing was started; what ran before is not known here: %w", procmgr.ErrUnknown),
	}),
	"unsupported": fails(xerrors.Errorf("the ports of a process cannot be told on windows: %w", errors.ErrUnsupported)),
	"partial": answers(nil, actor{
		list: []procmgr.Process{web().Process},
		err:  &procmgr.PartialError{Missing: map[string]error{"build-2": context.DeadlineExceeded}},
	}),
	"unauthorized": refused,
	"browser":      refused,
	"badhost":      refused,
	"scope": func(testing.TB) scene {
		return scene{opts: prochttp.HandlerOptions{Authorize: func(r *http.Request) (prochttp.Scope, error) {
			if r.Header.Get("Authorization") != "Bearer of-chat-42" {
				return prochttp.Scope{}, errors.New("nobody")
			}
			return prochttp.Scope{Chats: func(id string) bool { return id == "chat-42" }}, nil
		}}}
	},
	"noendpoint": refused,
	"method":     refused,
	"mediatype":  refused,
	"toolarge":   refused,
	"busy": func(t testing.TB) scene {
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		return scene{
			opts: prochttp.HandlerOptions{MaxWaiters: 1},
			host: printing{actor: actor{t: t}}, // which never prints
			before: func(_ int, h http.Handler, url string) {
				c := newClient(t, url, nil)
				go func() {
					defer close(done)
					_, err := c.Output(ctx, "web", procmgr.OutputRequest{Wait: long})
					assert.ErrorIs(t, err, context.Canceled)
				}()
				require.Eventually(t, func() bool { return prochttp.Waiters(h) == 1 }, long, time.Millisecond)
			},
			after: func() { cancel(); <-done },
		}
	},
	"survivor": fails(xerrors.New("killed, but not all of it is gone after 5s: process web: pid 4760, 4761")),
	"internal": refused,
}

// A quiet is a host on which nothing happens.
type quiet struct{ actor }

func (q quiet) Chat(string) procmgr.Manager { return q }

func (q quiet) Events(_ context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	time.Sleep(req.Wait)
	return procmgr.EventPage{Next: req.After}, nil
}

// A printing is a host whose process prints a line at some time.
type printing struct {
	actor
	printed chan struct{}
}

func (p printing) Chat(id string) procmgr.Manager { p.chat = id; return p }

func (p printing) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	if req.Wait > 0 {
		select {
		case <-p.printed:
			p.out = listening()
		case <-ctx.Done():
			return procmgr.Output{}, ctx.Err()
		}
	}
	return p.actor.Output(ctx, id, req)
}
