package prochttp_test

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
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

// An actor is a Host with fixed answers. A call without an answer panics, and is then not
// answered as the page says: a request that must be refused has reached the host.
type actor struct {
	chat    string // the chat of the last call
	start   func(context.Context, procmgr.StartRequest) (procmgr.Output, error)
	output  func(context.Context, procmgr.OutputRequest) (procmgr.Output, error)
	list    func() ([]procmgr.Process, error)
	signal  func(string, procmgr.Signal) error
	machine func() (procmgr.Description, error)
	events  func(procmgr.EventsRequest) (procmgr.EventPage, error)
	input   func(string, procmgr.InputRequest) (procmgr.InputOutput, error)
}

func (a *actor) Chat(id string) procmgr.Manager { b := *a; b.chat = id; return &b }

func (a *actor) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	out, err := a.start(ctx, req)
	return a.mine(out), callerr.Wrap("start", req.ID, err)
}

func (a *actor) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	out, err := a.output(ctx, req)
	return a.mine(out), callerr.Wrap("output", id, err)
}

func (a *actor) List(_ context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	all, err := a.list()
	page, wrong := procmgr.PageOf(all, req)
	return page, callerr.Wrap("list", "", cmp.Or(err, wrong))
}

func (a *actor) Signal(_ context.Context, id string, sig procmgr.Signal) error {
	return callerr.Wrap("signal", id, a.signal(id, sig))
}

func (a *actor) Describe(context.Context) (procmgr.Description, error) {
	d, err := a.machine()
	return d, callerr.Wrap("describe", "", err)
}

func (a *actor) Events(_ context.Context, req procmgr.EventsRequest) (procmgr.EventPage, error) {
	page, err := a.events(req)
	for i := range page.Events {
		page.Events[i].Process.ChatID = a.chat
	}
	return page, callerr.Wrap("events", "", err)
}

func (a *actor) Input(_ context.Context, id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	out, err := a.input(id, req)
	out.Output = a.mine(out.Output)
	return out, callerr.Wrap("input", id, err)
}

// mine puts a process into the chat of the last call.
func (a *actor) mine(out procmgr.Output) procmgr.Output {
	if out.Process.ID != "" {
		out.Process.ChatID = a.chat
	}
	return out
}

// at is a time on the page.
func at(ms int) time.Time {
	return time.Date(2025, time.March, 14, 9, 26, 53, 589_793_238, time.UTC).Add(time.Duration(ms) * time.Millisecond)
}

// made is the build on the page: it has failed.
func made() procmgr.Output {
	code, ended := 2, at(3140)
	return procmgr.Output{
		Process: procmgr.Process{
			ID: "k7qv2mzp4a", Command: "make test", WorkDir: "/srv/project", PID: 4711,
			State: procmgr.Exited, ExitCode: &code, EndedBy: procmgr.CauseExit,
			StartedAt: at(0), ExitedAt: ended, Elapsed: ended.Sub(at(0)),
		},
		Text: "go test ./...\nok  \texample/a\nFAIL\texample/b\nmake: *** [Makefile:3: test] Error 1\n",
		Next: 81,
	}
}

// web is the server on the page: it runs.
func web() procmgr.Output {
	return procmgr.Output{
		Process: procmgr.Process{
			ID: "web", Command: "npm start", WorkDir: "/srv/web", Background: true, PID: 4752,
			State: procmgr.Running, StartedAt: at(8000), Elapsed: 20 * time.Millisecond,
		},
		Text: "> web@1.0.0 start <\n\n",
		Next: 21,
	}
}

// listening is the line that this server prints next.
func listening() procmgr.Output {
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

// fails makes a scene with a host that answers every call with an error.
func fails(out procmgr.Output, err error) func(testing.TB) scene {
	return func(t testing.TB) scene {
		return scene{host: &actor{
			start:  func(context.Context, procmgr.StartRequest) (procmgr.Output, error) { return out, err },
			output: func(context.Context, procmgr.OutputRequest) (procmgr.Output, error) { return out, err },
			signal: func(string, procmgr.Signal) error { return err },
		}}
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

var scenes = map[string]func(testing.TB) scene{
	"start": func(t testing.TB) scene { return starts(t, made()) },
	"background": func(t testing.TB) scene {
		return scene{host: &actor{start: func(_ context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
			assert.Equal(t, procmgr.StartRequest{ID: "web", Command: "npm start", Background: true, Wait: 200 * time.Millisecond}, req)
			return web(), nil
		}}}
	},
	"again": func(t testing.TB) scene {
		out := made()
		out.Attached = true
		return starts(t, out)
	},
	"output": func(t testing.TB) scene {
		return scene{host: &actor{output: func(_ context.Context, req procmgr.OutputRequest) (procmgr.Output, error) {
			assert.Equal(t, procmgr.OutputRequest{From: 21, Wait: 10 * time.Second, Until: `listening on :\d+`}, req)
			return listening(), nil
		}}}
	},
	"ports": func(t testing.TB) scene {
		return scene{host: &actor{output: func(_ context.Context, req procmgr.OutputRequest) (procmgr.Output, error) {
			assert.Equal(t, procmgr.OutputRequest{From: 40, Wait: 10 * time.Second, UntilListening: 3000}, req)
			out := web()
			out.Text, out.Next = "", 40
			out.Listening = []procmgr.Socket{{Addr: "127.0.0.1:3000", PID: 4760}}
			return out, nil
		}}}
	},
	"events": func(t testing.TB) scene {
		const instance = "YQ3F6HJD2N7KBW5XTMZL4CPRVS."
		n := 0
		return scene{host: &actor{events: func(req procmgr.EventsRequest) (procmgr.EventPage, error) {
			if n++; n == 2 {
				assert.Equal(t, procmgr.EventsRequest{After: "from-another-server", Wait: 25 * time.Second}, req)
				return procmgr.EventPage{Next: instance + "21", Gap: true}, nil
			}
			assert.Equal(t, procmgr.EventsRequest{After: instance + "17", Wait: 25 * time.Second, Limit: 50}, req)
			return procmgr.EventPage{Next: instance + "21", Events: []procmgr.Event{
				{At: made().Process.ExitedAt, Kind: procmgr.EventExited, Process: made().Process},
				{At: at(8200), Kind: procmgr.EventMatched, Process: web().Process, Line: "listening on :3000"},
			}}, nil
		}}}
	},
	"quiet": func(t testing.TB) scene {
		return scene{host: &actor{events: func(req procmgr.EventsRequest) (procmgr.EventPage, error) {
			time.Sleep(req.Wait)
			return procmgr.EventPage{Next: req.After}, nil
		}}}
	},
	"truncated": func(t testing.TB) scene {
		return scene{host: &actor{output: func(_ context.Context, req procmgr.OutputRequest) (procmgr.Output, error) {
			assert.Equal(t, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 80}}, req)
			out := made()
			b := headtail.New(1<<10, 1<<10)
			_, err := io.WriteString(b, out.Text)
			assert.NoError(t, err)
			out.Text, out.Truncated = b.Snapshot(0).Text(req.Limit)
			return out, nil
		}}}
	},
	"highlights": func(t testing.TB) scene {
		return scene{host: &actor{output: func(_ context.Context, req procmgr.OutputRequest) (procmgr.Output, error) {
			assert.Equal(t, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 80}, Highlight: 1000}, req)
			out := made()
			out.Text = "cc -c module1.c\n\n\n... [omitted 20480 bytes] ...\n\nmake: *** [all] Error 2\n"
			out.Truncated = &headtail.Truncation{OriginalBytes: 20520, RetainedBytes: 40, OmittedBytes: 20480, Strategy: "head_tail",
				Cuts: []headtail.Cut{{From: 16, To: 20496, At: 16, Len: len("\n\n... [omitted 20480 bytes] ...\n\n")}}}
			out.Next = 20520
			out.Highlights = []procmgr.Highlight{{Line: 1176, Offset: 18304, Text: "module147.c:7:13: error: 'struct item' has no member named 'length'\n    7 | if (items[i].length == size)", Count: 2}}
			return out, nil
		}}}
	},
	"list": func(t testing.TB) scene {
		return scene{host: &actor{list: func() ([]procmgr.Process, error) {
			first, second := made().Process, web().Process
			first.ChatID, second.ChatID = "chat-42", "team a/42"
			return []procmgr.Process{first, second}, nil
		}}}
	},
	"input": func(t testing.TB) scene {
		return scene{host: &actor{input: func(id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
			assert.Equal(t, "repl", id)
			want := procmgr.InputRequest{IdempotencyKey: "VJ7RCKQ2", Data: []byte("print(6*7)\n")}
			out := python()
			if req.Wait > 0 {
				want.Until, want.Wait = "^42$", 10*time.Second
				out.Matched, out.MatchedLine, out.MatchedAt = true, "42", 84
			}
			assert.Equal(t, want, req)
			return out, nil
		}}}
	},
	"signal": func(t testing.TB) scene {
		return scene{host: &actor{signal: func(id string, sig procmgr.Signal) error {
			assert.Equal(t, "web", id)
			assert.Equal(t, procmgr.Terminate, sig)
			return nil
		}}}
	},
	"stop": func(t testing.TB) scene {
		return scene{host: &actor{
			signal: func(string, procmgr.Signal) error { return procmgr.ErrNotFound },
			start: func(context.Context, procmgr.StartRequest) (procmgr.Output, error) {
				return procmgr.Output{}, xerrors.Errorf("it was stopped before it began, so nothing was run; take another ID to run it after all: %w", procmgr.ErrConflict)
			},
		}}
	},
	"describe": func(t testing.TB) scene {
		return scene{host: &actor{machine: func() (procmgr.Description, error) {
			return procmgr.Description{Shell: "bash", OS: "linux", Sandbox: &procmgr.SandboxRules{Write: []string{"/work"}, NoNetwork: true}}, nil
		}}}
	},
	"health":   refused,
	"shutdown": ending,
	"slices": func(t testing.TB) scene {
		printed := make(chan struct{})
		return scene{
			host: &actor{output: func(ctx context.Context, req procmgr.OutputRequest) (procmgr.Output, error) {
				assert.Equal(t, int64(21), req.From)
				if req.Wait > 0 {
					assert.Equal(t, "listening", req.Until)
					select {
					case <-printed:
						return listening(), nil
					case <-ctx.Done():
						return procmgr.Output{}, ctx.Err()
					}
				}
				out := web()
				out.Text = ""
				return out, nil
			}},
			before: func(n int, _ http.Handler, _ string) {
				if n == 2 {
					close(printed)
				}
			},
		}
	},
	"restarted": refused,

	"invalid":    refused,
	"badchat":    refused,
	"twice":      refused,
	"notfound":   fails(procmgr.Output{}, procmgr.ErrNotFound),
	"notrunning": fails(procmgr.Output{}, procmgr.ErrNotRunning),
	"not-ready": func(t testing.TB) scene {
		return scene{host: &actor{input: func(string, procmgr.InputRequest) (procmgr.InputOutput, error) {
			return procmgr.InputOutput{}, xerrors.Errorf("no program asks for a secret: none has turned the echo of the terminal off to read a line, so nothing was written: %w", procmgr.ErrNotReady)
		}}}
	},
	"conflict": fails(procmgr.Output{},
		xerrors.Errorf("this ID ran another command, directory or environment; take another ID: %w", procmgr.ErrConflict)),
	"limit": fails(procmgr.Output{},
		xerrors.Errorf("64 processes run in this chat, and its limit is 64; end one of this chat's first (the oldest are web, k7qv2mzp4a): %w", procmgr.ErrLimit)),
	"refused": fails(procmgr.Output{},
		xerrors.Errorf("commands are not run between 6 pm and 6 am: %w", procmgr.ErrRefused)),
	"closed": ending,
	"unknown": fails(procmgr.Output{Process: procmgr.Process{ID: "t2xv6bq3rm"}},
		xerrors.Errorf("nothing was started; what ran before is not known here: %w", procmgr.ErrUnknown)),
	"unsupported": fails(procmgr.Output{},
		xerrors.Errorf("the ports of a process cannot be told on windows: %w", errors.ErrUnsupported)),
	"partial": func(t testing.TB) scene {
		return scene{host: &actor{list: func() ([]procmgr.Process, error) {
			return []procmgr.Process{web().Process}, &procmgr.PartialError{Missing: map[string]error{"build-2": context.DeadlineExceeded}}
		}}}
	},
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
			host: &actor{output: func(ctx context.Context, _ procmgr.OutputRequest) (procmgr.Output, error) {
				<-ctx.Done()
				return procmgr.Output{}, ctx.Err()
			}},
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
	"survivor": fails(procmgr.Output{}, xerrors.New("killed, but not all of it is gone after 5s: process web: pid 4760, 4761")),
	"internal": func(t testing.TB) scene {
		return scene{host: &actor{start: func(context.Context, procmgr.StartRequest) (procmgr.Output, error) {
			panic("the host has a fault")
		}}}
	},
}

// starts makes a scene with a host that gets the first start of the page.
func starts(t testing.TB, out procmgr.Output) scene {
	return scene{host: &actor{start: func(_ context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
		assert.Equal(t, procmgr.StartRequest{
			ID: "k7qv2mzp4a", Command: "make test", WorkDir: "/srv/project", Env: map[string]string{"GOFLAGS": "-race"},
			Wait: 10 * time.Second, Limit: headtail.Limits{Bytes: 16384, Line: 1024},
		}, req)
		return out, nil
	}}}
}
