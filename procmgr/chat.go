package procmgr

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/xerrors"
)

// maxChat is the longest chat ID in bytes.
const maxChat = 256

// A chat is a Local as one chat sees it.
type chat struct {
	local *Local
	id    string
	err   error // what is wrong with id: isolation fails closed
}

var _ Manager = (*chat)(nil)

// Chat implements [Host]. An ID of a chat has 1 to 256 bytes, none of them a
// control character; with any other one every call is [ErrInvalid].
func (l *Local) Chat(id string) Manager { return &chat{local: l, id: id, err: checkChat(id)} }

// checkChat says what is wrong with the ID of a chat.
func checkChat(id string) error {
	switch {
	case id == "":
		return xerrors.Errorf("the chat ID is empty: %w", ErrInvalid)
	case len(id) > maxChat:
		return xerrors.Errorf("the chat ID has %d bytes, at most %d are allowed: %w", len(id), maxChat, ErrInvalid)
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return xerrors.Errorf("the chat ID %.80q has a character that cannot be used: %w", id, ErrInvalid)
	}
	return nil
}

func (c *chat) Start(ctx context.Context, req StartRequest) (Output, error) {
	if c.err != nil {
		return Output{}, wrap("start", req.ID, c.err)
	}
	out, err := c.local.start(ctx, c.id, req)
	return out, wrap("start", req.ID, err)
}

func (c *chat) Output(ctx context.Context, id string, req OutputRequest) (Output, error) {
	if c.err != nil {
		return Output{}, wrap("output", id, c.err)
	}
	out, err := c.local.output(ctx, c.id, id, req)
	return out, wrap("output", id, err)
}

func (c *chat) List(ctx context.Context) ([]Process, error) {
	if c.err != nil {
		return nil, wrap("list", "", c.err)
	}
	c.local.mu.Lock()
	all := c.local.chats.of(c.id)
	c.local.mu.Unlock()
	return listOf(ctx, all)
}

func (c *chat) Signal(ctx context.Context, id string, sig Signal) error {
	if c.err != nil {
		return wrap("signal", id, c.err)
	}
	return wrap("signal", id, c.local.signal(ctx, c.id, id, sig))
}
