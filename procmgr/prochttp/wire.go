package prochttp

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/check"
)

// The headers of the protocol.
const (
	// headerChat has the chat's ID, percent-encoded: an ID can have characters
	// that a header cannot have, and a header loses spaces at its ends.
	headerChat = "Toolproc-Chat-Id"
	// headerInstance is on every answer. On a start it names the handler that
	// is meant: another handler does not know the process IDs that were used.
	headerInstance = "Toolproc-Instance"
	// headerProtocol is on every answer and on every request of a Client: the
	// version of the protocol that its sender speaks.
	headerProtocol = "Toolproc-Protocol"
	// headerWaiting is on an answer if the time of the request was up before
	// its wait ended. The client can continue the wait.
	headerWaiting = "Toolproc-Waiting"
	// headerKey is on a signal. If the handler has seen the key before, it
	// gives the same answer as before.
	headerKey = "Idempotency-Key"
)

// protocol is the version that this package speaks. It changes if one side would
// misunderstand the other one.
const protocol = "1"

// otherProtocol returns the error of a peer that speaks another version, or nil. A
// peer that does not say its version, such as a client that somebody has written
// for this one, is taken at its word.
func otherProtocol(h http.Header, peer, own string) error {
	version := h.Get(headerProtocol)
	if version == "" || version == protocol {
		return nil
	}
	return xerrors.Errorf("the %s speaks version %.20q of the protocol, and this %s version %q: run the same version of toolproc on both sides: %w",
		peer, version, own, protocol, procmgr.ErrInvalid)
}

// The endpoints. None of them is the path of a process, which has two segments.
const (
	pathStart    = "/start"
	pathList     = "/list"
	pathDescribe = "/describe"
	pathEvents   = "/events"
	pathHealth   = "/health"
)

// maxSlice is the longest wait of one request.
const maxSlice = 5 * time.Minute

// signalTime is how long a signal may take. A kill gives up after 10 s at most.
const signalTime = 15 * time.Second

// maxPath is the limit of a process ID or a pattern in bytes. The client does
// not send a longer one, because no valid one is that long.
const maxPath = 1024

// maxKey is the longest key of a wait or of a signal, in bytes.
const maxKey = 64

// A startBody is a StartRequest on the wire.
type startBody struct {
	startFields
	Wait string `json:"wait,omitempty"`
}

// startFields are those of a StartRequest.
type startFields struct {
	ID           string            `json:"id,omitempty"`
	Command      string            `json:"command"`
	WorkDir      string            `json:"work_dir,omitempty"`
	Env          map[string]string `json:"env,omitempty"`
	Background   bool              `json:"background,omitempty"`
	Stdin        procmgr.Stdin     `json:"stdin,omitempty"`
	Size         procmgr.Size      `json:"size,omitzero"`
	Wait         time.Duration     `json:"-"` // that of the startBody counts
	UntilWaiting bool              `json:"until_waiting,omitempty"`
	Limit        headtail.Limits   `json:"limit,omitzero"`
	Notify       string            `json:"notify,omitempty"`
}

// newStartBody returns the body of a start that does not wait yet.
func newStartBody(req procmgr.StartRequest) (startBody, error) {
	// JSON would change the bytes, and so the command.
	for _, t := range [...]struct{ what, text string }{
		{"ID", req.ID}, {"command", req.Command}, {"working directory", req.WorkDir}, {"pattern", req.Notify}, {"stdin", string(req.Stdin)},
	} {
		if !utf8.ValidString(t.text) {
			return startBody{}, errNotUTF8(t.what)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(req.Env)) {
		if !utf8.ValidString(name) || !utf8.ValidString(req.Env[name]) {
			return startBody{}, errNotUTF8("environment variable " + strconv.Quote(name))
		}
	}
	return startBody{startFields: startFields(req)}, nil
}

func errNotUTF8(what string) error {
	return xerrors.Errorf("the %s is not UTF-8, which this connection cannot carry: %w", what, procmgr.ErrInvalid)
}

// encode writes the body of an attempt that waits for a time.
func (b startBody) encode(wait time.Duration) []byte {
	if wait > 0 {
		b.Wait = wait.String()
	}
	data, _ := encode(b) // strings and numbers can always be written
	return data
}

func (b startBody) request() (procmgr.StartRequest, error) {
	wait, err := parseWait(b.Wait)
	b.startFields.Wait = wait
	return procmgr.StartRequest(b.startFields), err
}

// A listBody is the answer to a list.
type listBody struct {
	Processes []procmgr.Process `json:"processes"`
	Total     int               `json:"total"`
	Live      int               `json:"live"`
}

// A signalBody is the request of a signal.
type signalBody struct {
	Signal procmgr.Signal `json:"signal"`
}

// parseWait reads a duration such as "10s". A negative duration is no wait.
func parseWait(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, xerrors.Errorf(`the wait %.80q is not a duration such as "10s": %w`, text, procmgr.ErrInvalid)
	}
	return max(d, 0), nil
}

// checkKey returns the error of a key that is not valid, or nil.
func checkKey(key string) error {
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, func(r rune) bool {
		return r <= ' ' || r > '~'
	}) {
		return xerrors.Errorf("a key has 1 to %d printable ASCII characters: %w", maxKey, procmgr.ErrInvalid)
	}
	return nil
}

// newKey returns a random name of 26 characters.
func newKey() string { return rand.Text() }

// encodeChat writes a chat's ID into a header.
func encodeChat(id string) string {
	var b []byte
	for i := range len(id) {
		if c := id[i]; c > ' ' && c <= '~' && c != '%' {
			b = append(b, c)
		} else {
			b = fmt.Appendf(b, "%%%02X", c)
		}
	}
	return string(b)
}

// decodeChat returns the chat that a request is for. ok is false if the request
// has no chat header. A header that is not valid is an error and never "no
// chat".
func decodeChat(h http.Header) (id string, ok bool, err error) {
	values := h.Values(headerChat)
	switch {
	case len(values) == 0:
		return "", false, nil
	case len(values) > 1:
		return "", false, xerrors.Errorf("the header %s is there %d times: %w", headerChat, len(values), procmgr.ErrInvalid)
	case values[0] == "":
		return "", false, xerrors.Errorf("the header %s is empty: %w", headerChat, procmgr.ErrInvalid)
	}
	for _, c := range []byte(values[0]) {
		if c <= ' ' || c > '~' {
			return "", false, xerrors.Errorf("the header %s has a byte that must be percent-encoded: %w", headerChat, procmgr.ErrInvalid)
		}
	}
	id, err = url.PathUnescape(values[0])
	if err != nil {
		return "", false, xerrors.Errorf("the header %s has a %% that begins no percent-encoded byte: %w", headerChat, procmgr.ErrInvalid)
	}
	if err := check.Chat(id); err != nil {
		return "", false, err
	}
	return id, true, nil
}

// maxFreed is the size in bytes of the largest buffer that is used again. A full
// output fits in.
const maxFreed = 128 << 10

// A buffer holds a body that is being written or read.
type buffer struct {
	bytes.Buffer
	enc *json.Encoder // writes into it
}

var buffers = sync.Pool{New: func() any {
	b := new(buffer)
	b.enc = json.NewEncoder(&b.Buffer)
	b.enc.SetEscapeHTML(false) // the output of a process is not for a web page
	return b
}}

func newBuffer() *buffer { return buffers.Get().(*buffer) }

// free gives the buffer back. Its bytes must not be used any more.
func (b *buffer) free() {
	if b.Cap() <= maxFreed {
		b.Reset()
		buffers.Put(b)
	}
}

// encode returns a body.
func encode(v any) ([]byte, error) {
	b := newBuffer()
	defer b.free()
	if err := b.enc.Encode(v); err != nil {
		return nil, xerrors.Errorf("encode: %w", err)
	}
	return bytes.Clone(b.Bytes()), nil
}
