package proctest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"unicode"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// lists is the fault of returning another list.
func lists(f func(all []procmgr.Process) []procmgr.Process) fault {
	return pages(func(page *procmgr.ListPage) { page.Processes = f(page.Processes) })
}

// pages is the fault of returning another page.
func pages(f func(page *procmgr.ListPage)) fault {
	return fault{list: func(ctx context.Context, m procmgr.Manager, req procmgr.ListRequest) (procmgr.ListPage, error) {
		page, err := m.List(ctx, req)
		f(&page)
		return page, err
	}}
}

// asksList is the fault of listing what another request asks for.
func asksList(f func(req *procmgr.ListRequest)) fault {
	return fault{list: func(ctx context.Context, m procmgr.Manager, req procmgr.ListRequest) (procmgr.ListPage, error) {
		f(&req)
		return m.List(ctx, req)
	}}
}

// someChat makes a valid chat ID of any string, like a host that fails open.
func someChat(id string) string {
	id = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(id, ""))
	return id[:min(len(id), 256)]
}

var brokenChats = []brokenHost{
	{
		name: "lists by ID",
		fault: always(lists(func(all []procmgr.Process) []procmgr.Process {
			slices.SortFunc(all, func(a, b procmgr.Process) int { return cmp.Compare(a.ID, b.ID) })
			return all
		})),
		fails: []string{"list/order and states"},
	},
	{
		name: "lists the oldest first",
		fault: always(lists(func(all []procmgr.Process) []procmgr.Process {
			slices.Reverse(all)
			return all
		})),
		fails: []string{"list/order and states", "list/some", "list/the host's"},
	},
	{
		name: "lists what runs alone",
		fault: always(lists(func(all []procmgr.Process) []procmgr.Process {
			return slices.DeleteFunc(all, func(p procmgr.Process) bool { return p.State != procmgr.Running })
		})),
		fails: []string{"list/order and states", "list/the host's", "detached/listed", "start/fields"},
	},
	{
		name:  "lists twice",
		fault: always(lists(func(all []procmgr.Process) []procmgr.Process { return append(all, all...) })),
		fails: []string{"list/attached once", "list/order and states", "list/some", "chat/odd names"},
	},
	{
		name:  "counts what is in the page",
		fault: always(pages(func(page *procmgr.ListPage) { page.Total = len(page.Processes) })),
		fails: []string{"list/some"},
	},
	{
		name: "counts the living of the page",
		fault: always(pages(func(page *procmgr.ListPage) {
			page.Live = 0
			for _, p := range page.Processes {
				if p.State != procmgr.Exited {
					page.Live++
				}
			}
		})),
		fails: []string{"list/some"},
	},
	{
		name:  "lists all, whatever the limit",
		fault: always(asksList(func(req *procmgr.ListRequest) { req.Limit = 0 })),
		fails: []string{"list/some"},
	},
	{
		name:  "lists from the beginning, whatever the offset",
		fault: always(asksList(func(req *procmgr.ListRequest) { req.Offset = 0 })),
		fails: []string{"list/some"},
	},
	{
		name:  "lists any state",
		fault: always(asksList(func(req *procmgr.ListRequest) { req.State = "" })),
		fails: []string{"list/some"},
	},
	{
		name: "lists other chats",
		fault: func(l *proclocal.Local) fault {
			return fault{list: func(ctx context.Context, m procmgr.Manager, req procmgr.ListRequest) (procmgr.ListPage, error) {
				if page, err := m.List(ctx, req); err != nil {
					return page, err
				}
				return l.List(ctx, req)
			}}
		},
		fails: []string{"list/empty", "isolation/of other chats", "isolation/of the host", "chat/odd names"},
	},
	{
		name:  "fails where there is nothing to list",
		fault: always(fault{list: failsEmpty}),
		fails: []string{"list/empty"},
	},
	{
		name:  "forgets the chat",
		fault: always(tells(func(p *procmgr.Process) { p.ChatID = "" })),
		fails: []string{"start/fields", "list/the host's", "chat/odd names", "isolation/one ID in two chats", "isolation/the host sees all", "concurrent/many callers"},
	},
	{
		name:  "has one chat for all",
		fault: always(names(func(string) string { return "all" })),
		fails: []string{"chat/odd names", "isolation/of other chats", "isolation/one ID in two chats", "isolation/the host is asked for both", "stop/one chat's alone", "list/empty"},
	},
	{
		name:  "trims the names of chats",
		fault: always(names(strings.TrimSpace)),
		fails: []string{"chat/odd names"},
	},
	{
		name:  "folds the case of chats",
		fault: always(names(strings.ToUpper)),
		fails: []string{"chat/odd names"},
	},
	{
		name:  "cuts the names of chats",
		fault: always(names(func(id string) string { return id[:min(len(id), 255)] })),
		fails: []string{"chat/odd names"},
	},
	{
		name: "has a new chat for every call",
		fault: func(*proclocal.Local) fault {
			var n atomic.Int64
			return names(func(id string) string { return fmt.Sprint(id, n.Add(1)) })
		},
		fails: []string{"chat/the same twice", "chat/odd names", "list/the host's"},
	},
	{
		name: "takes no name for the host",
		fault: always(fault{chat: func(h procmgr.Host, id string) procmgr.Manager {
			if id == "" {
				return h
			}
			return h.Chat(id)
		}}),
		fails: []string{"chat/empty"},
	},
	{
		name:  "makes a chat of any name",
		fault: always(names(someChat)),
		fails: []string{"chat/control characters", "chat/not UTF-8", "chat/too long"},
	},
	{
		name: "finds for chats what the host has",
		fault: func(l *proclocal.Local) fault {
			return fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
				out, err := m.Output(ctx, id, req)
				if errors.Is(err, procmgr.ErrNotFound) {
					return l.Output(ctx, id, req)
				}
				return out, err
			}}
		},
		fails: []string{"isolation/of other chats", "isolation/of the host", "isolation/errors tell nothing"},
	},
	{
		name: "signals for chats what the host has",
		fault: func(l *proclocal.Local) fault {
			return signals(func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
				err := m.Signal(ctx, id, sig)
				if errors.Is(err, procmgr.ErrNotFound) {
					return l.Signal(ctx, id, sig)
				}
				return err
			})
		},
		fails: []string{"isolation/of other chats", "isolation/of the host", "isolation/errors tell nothing"},
	},
	{
		name: "tells of others in its errors",
		fault: func(l *proclocal.Local) fault {
			return fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
				out, err := m.Output(ctx, id, req)
				if errors.Is(err, procmgr.ErrNotFound) {
					if _, known := l.Output(ctx, id, procmgr.OutputRequest{}); known == nil {
						err = xerrors.Errorf("another chat's: %w", err)
					}
				}
				return out, err
			}}
		},
		fails: []string{"isolation/errors tell nothing"},
	},
	{
		name: "has one chat for each ID",
		fault: func(l *proclocal.Local) fault {
			return fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
				if req.ID == "" {
					return m.Start(ctx, req)
				}
				if _, err := m.Output(ctx, req.ID, procmgr.OutputRequest{}); errors.Is(err, procmgr.ErrNotFound) {
					if _, err := l.Output(ctx, req.ID, procmgr.OutputRequest{}); err == nil {
						return procmgr.Output{}, procmgr.ErrConflict
					}
				}
				return m.Start(ctx, req)
			}}
		},
		fails: []string{"isolation/one ID in two chats", "chat/odd names"},
	},
	{
		name: "takes any of several",
		fault: func(l *proclocal.Local) fault {
			anyOf := func(ctx context.Context, id string) procmgr.Manager {
				page, _ := l.List(ctx, procmgr.ListRequest{})
				all := page.Processes
				for _, p := range all {
					if p.ID == id && p.ChatID != "" {
						return l.Chat(p.ChatID)
					}
				}
				return l
			}
			return fault{
				output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
					out, err := m.Output(ctx, id, req)
					if errors.Is(err, procmgr.ErrConflict) {
						return anyOf(ctx, id).Output(ctx, id, req)
					}
					return out, err
				},
				signal: func(ctx context.Context, m procmgr.Manager, id string, sig procmgr.Signal) error {
					err := m.Signal(ctx, id, sig)
					if errors.Is(err, procmgr.ErrConflict) {
						return anyOf(ctx, id).Signal(ctx, id, sig)
					}
					return err
				},
			}
		},
		fails: []string{"isolation/the host is asked for both"},
	},
	{
		name: "has a host that sees its own alone",
		fault: func(l *proclocal.Local) fault {
			return fault{output: func(ctx context.Context, m procmgr.Manager, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
				out, err := m.Output(ctx, id, req)
				if m == procmgr.Manager(l) && out.Process.ChatID != "" {
					return procmgr.Output{}, procmgr.ErrNotFound
				}
				return out, err
			}}
		},
		fails: []string{"isolation/the host sees all", "list/the host's", "wait/many at once"},
	},
	{
		name: "runs sixteen at most",
		fault: always(fault{start: func(ctx context.Context, m procmgr.Manager, req procmgr.StartRequest) (procmgr.Output, error) {
			page, _ := m.List(ctx, procmgr.ListRequest{})
			all := page.Processes
			running := 0
			for _, p := range all {
				if p.State != procmgr.Exited {
					running++
				}
			}
			if running >= 16 {
				return procmgr.Output{}, procmgr.ErrLimit
			}
			return m.Start(ctx, req)
		}}),
		fails: []string{"concurrent/many processes"},
	},
}

func failsEmpty(ctx context.Context, m procmgr.Manager, req procmgr.ListRequest) (procmgr.ListPage, error) {
	page, err := m.List(ctx, req)
	if err == nil && page.Total == 0 {
		err = procmgr.ErrNotFound
	}
	return page, err
}
