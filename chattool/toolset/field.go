package toolset

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"unicode"

	"github.com/toolproc/toolproc/procmgr"
	"golang.org/x/xerrors"
)

// text is a string.
type text string

func (t *text) decode(raw json.RawMessage) error {
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
	*t = text(s)
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
		var s text
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

// flag is a boolean; "" leaves it alone.
type flag bool

func (f *flag) decode(raw json.RawMessage) error {
	value, _ := scalar(raw)
	switch {
	case strings.EqualFold(value, "true"):
		*f = true
	case strings.EqualFold(value, "false"):
		*f = false
	case value == "" && raw[0] == '"':
	default:
		return xerrors.Errorf("got %s, want true or false", written(raw))
	}
	return nil
}

// offset is an offset in the output, in bytes; "" leaves it alone.
type offset int64

func (o *offset) decode(raw json.RawMessage) error {
	value, ok := scalar(raw)
	if ok && value == "" {
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil {
		// In JSON 1e3 and 1024.0 are whole numbers too.
		f, ferr := strconv.ParseFloat(value, 64)
		if ferr != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return xerrors.Errorf("got %s, want a whole number such as 0 or the next_offset of an earlier result", written(raw))
		}
		n = int64(f)
	}
	if n < 0 {
		return xerrors.Errorf("got %s, want 0 or more: an offset counts from the beginning", written(raw))
	}
	*o = offset(n)
	return nil
}

// processID is the ID of a process. An ID of digits alone may come as a number,
// because the model left out the quotes.
type processID string

func (p *processID) decode(raw json.RawMessage) error {
	value, ok := scalar(raw)
	if !ok || kind(raw) == "a boolean" {
		return xerrors.Errorf(`got %s, want a process id as a string`, kind(raw))
	}
	if value == "" {
		return xerrors.New("it is empty; take the background_process_id of an earlier result, or an id from the list of processes")
	}
	if len(value) > 64 {
		return xerrors.Errorf("got %d bytes, a process id has at most 64", len(value))
	}
	if i := strings.IndexFunc(value, func(r rune) bool {
		return r > unicode.MaxASCII || r != '_' && r != '-' && !unicode.IsLetter(r) && !unicode.IsDigit(r)
	}); i >= 0 {
		return xerrors.Errorf("got %q, but a process id has only letters, digits, - and _", value)
	}
	*p = processID(value)
	return nil
}

// signalName is a signal, by this package's name for it or by the system's.
type signalName procmgr.Signal

func (s *signalName) decode(raw json.RawMessage) error {
	value, _ := scalar(raw)
	switch strings.TrimPrefix(strings.ToUpper(value), "SIG") {
	case "TERMINATE", "TERM", "15":
		*s = signalName(procmgr.Terminate)
	case "INTERRUPT", "INT", "2":
		*s = signalName(procmgr.Interrupt)
	case "KILL", "9":
		*s = signalName(procmgr.Kill)
	default:
		return xerrors.Errorf("got %s, want terminate, kill or interrupt", written(raw))
	}
	return nil
}
