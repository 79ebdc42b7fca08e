package prochttp

import (
	"bytes"
	"crypto/rand"
	stdjson "encoding/json"
	"errors"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/xerrors"

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
	// headerUp is how long the server has been up at least: on a health check to ask for
	// it, on the answer, and on a start with an age. So the server knows how long that was
	// on the way, and adds it to the age.
	headerUp = "Toolproc-Up"
	// headerKey is on a signal. If the handler has seen the key before, it
	// gives the same answer as before.
	headerKey = "Idempotency-Key"
)

// protocol is the version that this package speaks. It changes if one side would
// misunderstand the other one.
const protocol = "1"

// The endpoints. Each takes a POST with the request before the arrow, and answers with the
// value behind the arrow or with a failure. Health is a GET.
const (
	pathStart    = "/start"    // procmgr.StartRequest → procmgr.Output
	pathOutput   = "/output"   // outputBody → procmgr.Output
	pathInput    = "/input"    // inputBody → procmgr.InputOutput
	pathSignal   = "/signal"   // signalBody → {}
	pathList     = "/list"     // procmgr.ListRequest → procmgr.ListPage
	pathEvents   = "/events"   // procmgr.EventsRequest → procmgr.EventPage
	pathDescribe = "/describe" // {} → procmgr.Description
	pathHealth   = "/health"   // → status
)

const (
	// maxSlice is the longest wait of one request.
	maxSlice = 5 * time.Minute
	// signalTime is how long a signal may take. A kill gives up after 10 s at most.
	signalTime = 15 * time.Second
	// maxKey is the longest key of a wait or of a signal, in bytes.
	maxKey = 64
)

// An outputBody is a [procmgr.OutputRequest], and the part of its wait that one
// request is.
type outputBody struct {
	ID string `json:"id"`
	procmgr.OutputRequest
	// WaitID names the wait, so that the next request can continue it; "" if
	// the wait ends with its request.
	WaitID string `json:"wait_id,omitempty"`
	// Left is how long the wait takes in all its slices from now on; less than
	// Wait counts as that.
	Left time.Duration `json:"left,omitzero"`
}

// An inputBody is a [procmgr.InputRequest]. Data is in base64, because it need not
// be text.
type inputBody struct {
	ID string `json:"id"`
	procmgr.InputRequest
}

// A signalBody is the request of a signal.
type signalBody struct {
	ID     string         `json:"id"`
	Signal procmgr.Signal `json:"signal"`
}

// A status is the answer to a health check.
type status struct {
	Status string `json:"status"`
}

// encode writes the body of a request. Durations are text such as "10s". Text that
// is not UTF-8 is an error, because JSON would change it, and with it the command.
func encode(v any) ([]byte, error) {
	data, err := json.Marshal(v, written)
	if wrong, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return nil, xerrors.Errorf("%q is not UTF-8, which this connection cannot carry: %w",
			strings.TrimPrefix(string(wrong.JSONPointer), "/"), procmgr.ErrInvalid)
	}
	return data, err
}

// How package json writes a request, reads a request, and reads an answer. The values
// have caches.
var (
	written = json.JoinOptions(json.Deterministic(true), json.WithMarshalers(json.MarshalToFunc(writeDuration)))
	asked   = json.JoinOptions(json.RejectUnknownMembers(true),
		json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(readText), json.UnmarshalFromFunc(readDuration))))
	answered = json.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
		json.WithUnmarshalers(json.UnmarshalFromFunc(readNanoseconds)))
)

func writeDuration(e *jsontext.Encoder, d time.Duration) error {
	return e.WriteToken(jsontext.String(d.String()))
}

// decodeRequest reads the body of a request, one JSON object. It refuses
// everything that encoding/json would guess, because a command must not run
// otherwise than its caller wrote it. It refuses fields that v does not have,
// names that come twice or in another case, and text that is not Unicode, which
// encoding/json would change.
func decodeRequest(data []byte, v any) error {
	if err := decode(data, v, asked); err != nil {
		return xerrors.Errorf("the body is not the JSON object of this endpoint (%v): %w", explained(err), procmgr.ErrInvalid)
	}
	return nil
}

// decodeAnswer reads the body of an answer, one JSON object. It skips fields that v
// does not have. The error of data that is no JSON is a [jsontext.SyntacticError].
func decodeAnswer(data []byte, v any) error {
	return decode(data, v, answered)
}

func decode(data []byte, v any, opts json.Options) error {
	reflect.ValueOf(v).Elem().SetZero()
	err := json.Unmarshal(data, v, opts)
	if err == nil && jsontext.Value(data).Kind() != '{' {
		err = xerrors.New("it is not an object")
	}
	return err
}

// readText refuses null for a variable: it is no text, and may be meant to unset it.
func readText(d *jsontext.Decoder, _ *string) error {
	if d.PeekKind() == 'n' && strings.HasPrefix(string(d.StackPointer()), "/env/") {
		return xerrors.New("it is not a string")
	}
	return errors.ErrUnsupported
}

// readDuration reads a duration such as "10s"; "" is 0.
func readDuration(d *jsontext.Decoder, to *time.Duration) error {
	var text string
	if err := json.UnmarshalDecode(d, &text); err != nil {
		return err
	}
	duration, err := time.ParseDuration(text)
	if err != nil && text != "" {
		return xerrors.Errorf(`%.80q is not a duration such as "10s"`, text)
	}
	*to = duration
	return nil
}

// sliceOf returns the part of a wait that one request is. A negative wait is none.
func sliceOf(wait time.Duration) time.Duration { return min(max(wait, 0), maxSlice) }

// readNanoseconds reads a duration as encoding/json writes it.
func readNanoseconds(d *jsontext.Decoder, to *time.Duration) error {
	return json.UnmarshalDecode(d, (*int64)(to))
}

// explained returns an error of package json without the types of Go in it.
func explained(err error) error {
	wrong, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return err
	}
	if wrong.Err == nil {
		return xerrors.Errorf("%.40q cannot be a JSON %s", wrong.JSONPointer, wrong.JSONKind)
	}
	return xerrors.Errorf("%.40q: %w", wrong.JSONPointer, wrong.Err)
}

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

// checkKey returns the error of a key that is not valid, or nil.
func checkKey(key string) error {
	if key == "" || len(key) > maxKey || strings.ContainsFunc(key, unprintable) {
		return xerrors.Errorf("a key has 1 to %d printable ASCII characters: %w", maxKey, procmgr.ErrInvalid)
	}
	return nil
}

// unprintable reports whether a header cannot carry a character as it is.
func unprintable(r rune) bool { return r <= ' ' || r > '~' }

// newKey returns a random name of 26 characters.
func newKey() string { return rand.Text() }

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
	case strings.ContainsFunc(values[0], unprintable):
		return "", false, xerrors.Errorf("the header %s has a byte that must be percent-encoded: %w", headerChat, procmgr.ErrInvalid)
	}
	if id, err = url.PathUnescape(values[0]); err != nil {
		return "", false, xerrors.Errorf("the header %s has a %% that begins no percent-encoded byte: %w", headerChat, procmgr.ErrInvalid)
	}
	return id, true, check.Chat(id)
}

// maxFreed is the size in bytes of the largest buffer that is used again. A full
// output fits in.
const maxFreed = 128 << 10

// A buffer holds a body that is being written or read.
type buffer struct {
	bytes.Buffer
	enc *stdjson.Encoder // writes an answer into it
}

var buffers = sync.Pool{New: func() any {
	b := new(buffer)
	b.enc = stdjson.NewEncoder(&b.Buffer)
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
