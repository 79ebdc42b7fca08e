package procmgr

import (
	"context"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/xerrors"
)

// maxChat is the longest ID of a chat in bytes.
const maxChat = 256

// A chat is the Manager that a Local gives one chat.
type chat struct {
	local *Local
	id    string
	err   error // why the ID cannot be used: isolation fails closed
}

var _ Manager = (*chat)(nil)

// Chat implements [Host]. The ID of a chat has 1 to 256 bytes of UTF-8 and no
// control character. With any other ID every call is [ErrInvalid].
func (l *Local) Chat(id string) Manager { return &chat{local: l, id: id, err: checkChat(id)} }

// checkChat returns an error that says why an ID of a chat cannot be used, or
// nil.
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

func (c *chat) Signal(ctx context.Context, id string, sig Signal) error {
	if c.err != nil {
		return wrap("signal", id, c.err)
	}
	return wrap("signal", id, c.local.signal(ctx, c.id, id, sig))
}
