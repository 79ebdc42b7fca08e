package procnats

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"strconv"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// headerCall names a call, so that its caller can give it up.
	headerCall = "Toolproc-Nats-Call"
	// headerLink is on every answer. It names the service and its connection: a
	// request that was sent on another link may have been lost.
	headerLink = "Toolproc-Nats-Link"
)

// encodeRequest writes a request as the data of a message. It closes the body.
func encodeRequest(req *http.Request, id string) ([]byte, error) {
	out := req.Clone(req.Context())
	out.Header.Set(headerCall, id)
	var b bytes.Buffer
	if err := out.Write(&b); err != nil {
		return nil, xerrors.Errorf("the request cannot be written: %w", err)
	}
	return b.Bytes(), nil
}

// decodeRequest reads the data of a message.
func decodeRequest(data []byte) (*http.Request, error) {
	req, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(data)))
	if err != nil {
		return nil, xerrors.Errorf("the data is no HTTP request (%v): %w", err, procmgr.ErrInvalid)
	}
	return req, nil
}

// An answer is a complete answer of a handler. It is an [http.ResponseWriter].
type answer struct {
	header  http.Header
	sent    http.Header // the header at the time of WriteHeader
	status  int
	content bytes.Buffer
}

func newAnswer() *answer { return &answer{header: make(http.Header)} }

// Header implements [http.ResponseWriter].
func (a *answer) Header() http.Header { return a.header }

// WriteHeader implements [http.ResponseWriter].
func (a *answer) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status, a.sent = status, maps.Clone(a.header)
	}
}

// Write implements [http.ResponseWriter].
func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.content.Write(p)
}

// encode writes the answer, which comes by a link, as the data of a message.
func (a *answer) encode(link string) []byte {
	a.WriteHeader(http.StatusOK)
	a.sent.Set(headerLink, link)
	a.sent.Del("Content-Length")
	res := http.Response{
		ProtoMajor: 1, ProtoMinor: 1,
		StatusCode:    a.status,
		Header:        a.sent,
		ContentLength: int64(a.content.Len()),
		Body:          io.NopCloser(bytes.NewReader(a.content.Bytes())),
	}
	var b bytes.Buffer
	b.Grow(a.content.Len() + 512)
	_ = res.Write(&b) // to memory
	return b.Bytes()
}

// decodeAnswer reads the data of a message that answers a request.
func decodeAnswer(data []byte, req *http.Request) (*http.Response, error) {
	res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(data)), req)
	if err != nil {
		return nil, xerrors.Errorf("the answer is no HTTP response: %w", err)
	}
	return res, nil
}

// A failure is an error in the words of docs/protocol.md.
type failure struct {
	Message string          `json:"message"`
	Detail  string          `json:"detail"`
	Code    string          `json:"code"`
	Result  *procmgr.Output `json:"result,omitempty"`

	status int
}

// These are the failures of a machine itself.
func forbidden(detail string) *failure {
	return &failure{Message: "the request is not allowed", Detail: detail, Code: "forbidden", status: http.StatusForbidden}
}

func invalid(detail string) *failure {
	return &failure{Message: procmgr.ErrInvalid.Error(), Detail: detail, Code: "invalid", status: http.StatusBadRequest}
}

func busy() *failure {
	return &failure{
		Message: "too many calls are waiting", Detail: "nothing was started; the machine has too many calls, end some or ask later",
		Code: "busy", status: http.StatusTooManyRequests,
	}
}

func leaving() *failure {
	return &failure{
		Message: procmgr.ErrClosed.Error(), Detail: "the machine is leaving, nothing was started",
		Code: "closed", status: http.StatusServiceUnavailable,
	}
}

// tooLong is the failure that stands for an answer that no message can carry. If
// the answer is about a process, so is the failure: it may have begun.
func tooLong(content []byte, length, limit int64) *failure {
	f := &failure{
		Message: "the body is too large",
		Detail: "the answer has " + strconv.FormatInt(length, 10) + " bytes, and the NATS server lets messages have " +
			strconv.FormatInt(limit, 10) + " (max_payload): ask for less text, or for a part of the list",
		Code: "too_large", status: http.StatusRequestEntityTooLarge,
	}
	var part struct {
		Process procmgr.Process `json:"process"`
		Next    int64           `json:"next"`
	}
	if json.Unmarshal(content, &part) == nil && part.Process.ID != "" {
		part.Process.Command = "" // it may be what is so long
		f.Result = &procmgr.Output{Process: part.Process}
	}
	return f
}

// answer returns the failure as an answer of the handler's instance.
func (f *failure) answer(instance string) *answer {
	a := newAnswer()
	a.header.Set("Content-Type", "application/json")
	a.header.Set(headerInstance, instance)
	if f.Code == "busy" {
		a.header.Set("Retry-After", "1")
	}
	body, _ := json.Marshal(f) // strings and numbers can always be written
	a.WriteHeader(f.status)
	_, _ = a.Write(body) // to memory
	return a
}
