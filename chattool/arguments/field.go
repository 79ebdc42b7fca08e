package arguments

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// Text is a string.
type Text string

func (t *Text) decode(raw json.RawMessage) error {
	if raw[0] != '"' {
		return xerrors.Errorf("got %s, want a string", kind(raw))
	}
	var s string
	if err := json.Unmarshal(raw, &s); err != nil {
		return xerrors.Errorf("not a valid string: %w", err)
	}
	// encoding/json turns half of a surrogate pair into U+FFFD. The command
	// would then differ from the one that the model sent.
	if strings.ContainsRune(s, '\uFFFD') && !bytes.ContainsRune(raw, '\uFFFD') &&
		!bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`)) {
		return xerrors.Errorf("got half of a surrogate pair, want a string of whole characters")
	}
	*t = Text(s)
	return nil
}

// scalar returns the text of a string, or of another plain value as it is
// written, without the space around it. Models send numbers and booleans in
// both forms.
func scalar(raw json.RawMessage) (value string, ok bool) {
	switch raw[0] {
	case '{', '[':
		return "", false
	case '"':
		var s Text
		if s.decode(raw) != nil {
			return "", false
		}
		return strings.TrimSpace(string(s)), true
	}
	return string(raw), true
}

// maxWritten is how much of a value an error has, in bytes.
const maxWritten = 60

// written returns a value as the model wrote it. A string that is cut still ends
// with its quote.
func written(raw json.RawMessage) string {
	switch {
	case len(raw) <= maxWritten:
		return string(raw)
	case raw[0] != '"':
		return kind(raw)
	}
	return strings.ToValidUTF8(string(raw[:maxWritten]), "") + `…"`
}

// Flag is a boolean; "" leaves it alone.
type Flag bool

func (f *Flag) decode(raw json.RawMessage) error {
	value, _ := scalar(raw)
	switch value = strings.ToLower(value); {
	case value == "true", value == "yes", value == "on":
		*f = true
	case value == "false", value == "no", value == "off":
		*f = false
	case value == "" && raw[0] == '"':
	default:
		return xerrors.Errorf("got %s, want true or false", written(raw))
	}
	return nil
}

// Offset is an offset in the output, in bytes; "" leaves it alone.
type Offset int64

func (o *Offset) decode(raw json.RawMessage) error {
	n, ok, err := whole(raw, "want a whole number such as 0 or the next_offset of an earlier result")
	if ok && n < 0 {
		return xerrors.Errorf("got %s, want 0 or more: an offset counts from the beginning", written(raw))
	}
	if ok {
		*o = Offset(n)
	}
	return err
}

// ProcessID is the ID of a process. An ID of digits alone may come as a number,
// because the model left out the quotes.
type ProcessID string

func (p *ProcessID) decode(raw json.RawMessage) error {
	value, ok := scalar(raw)
	if !ok || kind(raw) == "a boolean" {
		return xerrors.Errorf(`got %s, want a process id as a string`, kind(raw))
	}
	if value == "" {
		return xerrors.New("it is empty; take the process_id of an earlier result, or an id from the list of processes")
	}
	if len(value) > 64 {
		return xerrors.Errorf("got %d bytes, a process id has at most 64", len(value))
	}
	if i := strings.IndexFunc(value, func(r rune) bool {
		return r > unicode.MaxASCII || r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}); i >= 0 {
		return xerrors.Errorf("got %q, but a process id has only letters, digits, - and _", value)
	}
	*p = ProcessID(value)
	return nil
}

// SignalName is a signal, by this package's name for it or by the system's.
type SignalName procmgr.Signal

func (s *SignalName) decode(raw json.RawMessage) error {
	value, _ := scalar(raw)
	switch strings.TrimPrefix(strings.ToUpper(value), "SIG") {
	case "TERMINATE", "TERM", "15":
		*s = SignalName(procmgr.Terminate)
	case "INTERRUPT", "INT", "2":
		*s = SignalName(procmgr.Interrupt)
	case "KILL", "9":
		*s = SignalName(procmgr.Kill)
	default:
		return xerrors.Errorf("got %s, want terminate, kill or interrupt", written(raw))
	}
	return nil
}

// Port is a TCP port; "" leaves it alone.
type Port int

func (p *Port) decode(raw json.RawMessage) error {
	value, ok := scalar(raw)
	if ok && value == "" {
		return nil
	}
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > 65535 {
		return xerrors.Errorf("got %s, want a port from 1 to 65535", written(raw))
	}
	*p = Port(n)
	return nil
}

// Tokens is a number of tokens, such as 4000 or "4k"; "" leaves it alone.
type Tokens int

func (t *Tokens) decode(raw json.RawMessage) error {
	value, ok := scalar(raw)
	if ok && value == "" {
		return nil
	}
	number := strings.ToLower(strings.TrimSpace(strings.TrimSuffix(strings.TrimSuffix(value, "s"), "token")))
	number, thousands := strings.CutSuffix(strings.ReplaceAll(number, ",", ""), "k")
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if thousands {
		n *= 1000
	}
	if !ok || err != nil || math.IsNaN(n) || n < 1 {
		return xerrors.Errorf(`got %s, want a number of tokens such as 4000 or "4k"`, written(raw))
	}
	*t = Tokens(min(n, math.MaxInt32))
	return nil
}
