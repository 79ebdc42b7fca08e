package proclocal

import (
	"context"
	"errors"
	"runtime"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/callerr"
	"github.com/toolproc/toolproc/procmgr/internal/check"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/retention"
)

// A view is a Local as the host sees it, or as one chat does.
type view struct {
	l    *Local
	host bool
	chat string // "" for the host
	err  error  // why the ID of the chat cannot be used: isolation fails closed
}

var _ procmgr.Manager = view{}

// Chat implements [procmgr.Host]. The ID of a chat has 1 to 256 bytes of UTF-8 and no
// control character. With any other ID every call is [procmgr.ErrInvalid].
func (l *Local) Chat(id string) procmgr.Manager { return view{l: l, chat: id, err: check.Chat(id)} }

// all is the host's view.
func (l *Local) all() view { return view{l: l, host: true} }

// of returns the chat of a process.
func (v view) of(id string) (string, error) {
	if v.host {
		return v.l.chatOf(id)
	}
	return v.chat, v.err
}

func (v view) Start(ctx context.Context, req procmgr.StartRequest) (out procmgr.Output, err error) {
	if err = v.err; err == nil {
		out, err = v.l.start(ctx, v.chat, req)
	}
	return out, callerr.Wrap("start", req.ID, err)
}

func (v view) Output(ctx context.Context, id string, req procmgr.OutputRequest) (out procmgr.Output, err error) {
	chat, err := v.of(id)
	if err == nil {
		out, err = v.l.output(ctx, chat, id, req)
	}
	return out, callerr.Wrap("output", id, err)
}

func (v view) Input(ctx context.Context, id string, req procmgr.InputRequest) (out procmgr.InputOutput, err error) {
	chat, err := v.of(id)
	if err == nil {
		out, err = v.l.input(ctx, chat, id, req)
	}
	return out, callerr.Wrap("input", id, err)
}

func (v view) Signal(ctx context.Context, id string, sig procmgr.Signal) error {
	chat, err := v.of(id)
	if err == nil || v.host && errors.Is(err, procmgr.ErrNotFound) {
		err = v.l.signal(ctx, chat, id, sig)
	}
	return callerr.Wrap("signal", id, err)
}

func (v view) List(ctx context.Context, req procmgr.ListRequest) (page procmgr.ListPage, err error) {
	switch err = v.err; {
	case err != nil:
	default:
		page, err = v.l.list(ctx, v, req)
	}
	return page, callerr.Wrap("list", "", err)
}

func (v view) Events(ctx context.Context, req procmgr.EventsRequest) (page procmgr.EventPage, err error) {
	if err = v.err; err == nil {
		page, err = v.l.tell(ctx, retention.Viewer{Chat: v.chat, Host: v.host}, req)
	}
	return page, callerr.Wrap("events", "", err)
}

func (v view) Describe(ctx context.Context) (procmgr.Description, error) {
	err := v.err
	if err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return procmgr.Description{}, callerr.Wrap("describe", "", err)
	}
	return procmgr.Description{Shell: v.l.name, OS: runtime.GOOS, Sandbox: check.Sandbox(v.l.rules)}, nil
}
