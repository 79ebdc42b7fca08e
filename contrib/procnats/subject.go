package procnats

import (
	"encoding/base32"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// root is the first token of every subject.
	root = "toolproc"
	// noChat stands for a chat in the subject of a caller that is the host
	// itself. No chat is written like this.
	noChat = "_host"
	// callCancel tells a machine that a caller has given up a call. No endpoint
	// of the handler has this name.
	callCancel = "cancel"
	callHealth = "health"
)

// The headers that the machine looks at, see docs/protocol.md.
const (
	headerChat     = "Toolproc-Chat-Id"
	headerInstance = "Toolproc-Instance"
)

// chats writes the ID of a chat into a subject. Its letters and digits are no
// separators and no wildcards.
var chats = base32.HexEncoding.WithPadding(base32.NoPadding)

// names matches the name of a machine.
var names = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// checkName returns the error of a machine's name that cannot be used, or nil.
func checkName(name string) error {
	if !names.MatchString(name) || name == endsToken {
		return xerrors.Errorf("the name of a machine has 1 to 64 letters, digits, - and _, is not ends, and cannot be %.80q: %w", name, procmgr.ErrInvalid)
	}
	return nil
}

// A subject is toolproc.HOST.CHAT.CALL.
type subject struct{ host, chat, call string }

func (s subject) String() string { return root + "." + s.host + "." + s.chat + "." + s.call }

// parseSubject reads a subject that a server has delivered.
func parseSubject(text string) (subject, bool) {
	t := strings.Split(text, ".")
	if len(t) != 4 {
		return subject{}, false
	}
	return subject{host: t[1], chat: t[2], call: t[3]}, t[0] == root
}

// chatToken returns the token of a chat; "" is the host.
func chatToken(id string) string {
	if id == "" {
		return noChat
	}
	return chats.EncodeToString([]byte(id))
}

// chatOf returns the chat of a subject's token. isChat is false for the host's token.
func chatOf(token string) (id string, isChat bool, err error) {
	if token == noChat {
		return "", false, nil
	}
	b, err := chats.DecodeString(token)
	// One chat has one token, so that a permission for another token cannot mean
	// the same chat.
	if err != nil || len(b) == 0 || chats.EncodeToString(b) != token {
		return "", false, xerrors.Errorf("the subject has no chat in base32hex: %w", procmgr.ErrInvalid)
	}
	return string(b), true, nil
}

// headerChatOf returns the chat of a request's header.
func headerChatOf(h http.Header) (id string, isChat bool, err error) {
	values := h.Values(headerChat)
	if len(values) == 0 {
		return "", false, nil
	}
	id, err = url.PathUnescape(values[0])
	if err != nil || id == "" || len(values) > 1 {
		return "", false, xerrors.Errorf("the header %s cannot be read: %w", headerChat, procmgr.ErrInvalid)
	}
	return id, true, nil
}

// callOf returns the call of a URL's path: its last segment.
func callOf(u *url.URL) string {
	path := u.EscapedPath()
	return path[strings.LastIndexByte(path, '/')+1:]
}

// subjectOf returns the subject of a request to a machine.
func subjectOf(host string, req *http.Request) (subject, error) {
	id, _, err := headerChatOf(req.Header)
	s := subject{host: host, chat: chatToken(id), call: callOf(req.URL)}
	if err != nil {
		return s, err
	}
	if s.call == callCancel || strings.Trim(s.call, "abcdefghijklmnopqrstuvwxyz_") != "" || s.call == "" {
		return s, xerrors.Errorf("no call has the path %.80q: %w", req.URL.Path, procmgr.ErrInvalid)
	}
	return s, nil
}
