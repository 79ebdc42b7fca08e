package arguments

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// Text is a string.
type Text string

func (t *Text) decode(raw json.RawMessage) error {
	if raw[0] != '"' {
		return xerrors.Errorf("got %s, want a string", kind(raw))
	}
	if err := json.Unmarshal(raw, (*string)(t)); err != nil {
		return xerrors.Errorf("not a valid string: %w", err)
	}
	// encoding/json turns half of a surrogate pair into U+FFFD. The command
	// would then differ from the one that the model sent.
	if strings.ContainsRune(string(*t), '\uFFFD') && !bytes.ContainsRune(raw, '\uFFFD') && !bytes.Contains(bytes.ToLower(raw), []byte(`\ufffd`)) {
		return xerrors.New("got half of a surrogate pair, want a string of whole characters")
	}
	return nil
}

// scalar returns the text of a string, or of another plain value as it is
// written, without the space around it. Models send numbers and booleans in
// both forms. ok is false for a list and an object.
func scalar(raw json.RawMessage) (value string, ok bool) {
	switch raw[0] {
	case '{', '[':
		return "", false
	case '"':
		var text Text
		err := text.decode(raw)
		return strings.TrimSpace(string(text)), err == nil
	}
	return string(raw), true
}

// maxWritten is how much of a value an error has, in bytes.
const maxWritten = 60

// unwanted returns the error for a value, as the model wrote it. A string that is cut
// still ends with its quote.
func unwanted(raw json.RawMessage, want string) error {
	got := string(raw)
	switch {
	case len(raw) <= maxWritten:
	case raw[0] != '"':
		got = kind(raw)
	default:
		got = strings.ToValidUTF8(got[:maxWritten], "") + `…"`
	}
	return xerrors.Errorf("got %s, %s", got, want)
}

// whole reads a whole number of at least least; ok is false if there is none.
func whole[T ~int | ~int64](raw json.RawMessage, least, most int64, want string, into *T) error {
	value, ok := scalar(raw)
	if ok && value == "" {
		return nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil { // in JSON 1e3 and 1024.0 are whole numbers too
		var f float64
		if f, err = strconv.ParseFloat(value, 64); f != math.Trunc(f) || math.Abs(f) > 1<<53 {
			return unwanted(raw, want)
		}
		n = int64(f)
	}
	if !ok || err != nil || n < least || n > most {
		return unwanted(raw, want)
	}
	*into = T(n)
	return nil
}

// Offset is an offset in the output, in bytes; "" leaves it alone.
type Offset int64

func (o *Offset) decode(raw json.RawMessage) error {
	return whole(raw, 0, math.MaxInt64, "want a whole number such as 0 or the next_offset of an earlier result", o)
}

// Line is the number of a line; a negative one counts from the end. "" leaves it
// alone.
type Line int64

func (l *Line) decode(raw json.RawMessage) error {
	return whole(raw, math.MinInt64, math.MaxInt64, "want the number of a line, such as 120, or -50 for the last 50", l)
}

// Lines is how many lines; "" leaves it alone.
type Lines int64

func (l *Lines) decode(raw json.RawMessage) error {
	return whole(raw, 1, math.MaxInt64, "want how many lines, such as 200", l)
}

// Port is a TCP port; "" leaves it alone.
type Port int

func (p *Port) decode(raw json.RawMessage) error {
	return whole(raw, 1, 65535, "want a port from 1 to 65535", p)
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
		return unwanted(raw, `want a number of tokens such as 4000 or "4k"`)
	}
	*t = Tokens(min(n, math.MaxInt32))
	return nil
}

// Flag is a boolean; "" leaves it alone.
type Flag bool

func (f *Flag) decode(raw json.RawMessage) error {
	value, ok := scalar(raw)
	switch strings.ToLower(value) {
	case "true", "yes", "on":
		*f = true
	case "false", "no", "off":
		*f = false
	default:
		if !ok || value != "" {
			return unwanted(raw, "want true or false")
		}
	}
	return nil
}

// ProcessID is the ID of a process. An ID of digits alone may come as a number,
// because the model left out the quotes.
type ProcessID string

var processID = regexp.MustCompile(`^[A-Za-z0-9_-]*$`)

func (p *ProcessID) decode(raw json.RawMessage) error {
	value, ok := scalar(raw)
	switch {
	case !ok || kind(raw) == "a boolean":
		return xerrors.Errorf(`got %s, want a process id as a string`, kind(raw))
	case value == "":
		return xerrors.New("it is empty; take the process_id of an earlier result, or an id from the list of processes")
	case len(value) > 64:
		return xerrors.Errorf("got %d bytes, a process id has at most 64", len(value))
	case !processID.MatchString(value):
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
		return unwanted(raw, "want terminate, kill or interrupt")
	}
	return nil
}

// StdinKind is the stdin of a command, by the model's name for it.
type StdinKind procmgr.Stdin

func (k *StdinKind) decode(raw json.RawMessage) error {
	value, _ := scalar(raw)
	switch strings.ToLower(value) {
	case "", "empty", "none", "closed":
	case "open", "pipe":
		*k = StdinKind(procmgr.StdinPipe)
	case "terminal", "tty", "pty":
		*k = StdinKind(procmgr.StdinTerminal)
	default:
		return unwanted(raw, "want open or terminal")
	}
	return nil
}

// KeyList are keys to press, by procmgr's names for them, in any case and with a + for the
// -, or as return and esc. One key may come without the list.
type KeyList []procmgr.Key

func (ks *KeyList) decode(raw json.RawMessage) error {
	if raw[0] == '"' {
		raw = json.RawMessage("[" + string(raw) + "]")
	}
	var names []string
	if err := json.Unmarshal(raw, &names); err != nil {
		return unwanted(raw, `want a list of keys such as ["down","enter"]`)
	}
	for _, name := range names {
		if name != "" {
			*ks = append(*ks, keyOf(name))
		}
	}
	return nil
}

// keyOf returns the key that a model means by Enter, esc or Ctrl+C. The case matters only
// for the character after alt-.
func keyOf(name string) procmgr.Key {
	folded := strings.Replace(strings.ToLower(name), "+", "-", 1)
	switch {
	case folded == "return":
		folded = "enter"
	case folded == "esc":
		folded = "escape"
	case strings.HasPrefix(folded, "alt-") && len(name) == len("alt-x"):
		folded = "alt-" + name[len("alt-"):]
	}
	return procmgr.Key(folded)
}

// A List is a list of objects, each a struct of arguments. One object may come
// without the list, and the whole of it as a string.
type List[T any] []T

func (l *List[T]) decode(raw json.RawMessage) error {
	if inner, _ := scalar(raw); raw[0] == '"' && json.Valid([]byte(inner)) {
		raw = json.RawMessage(inner)
	}
	if raw[0] == '{' {
		raw = json.RawMessage("[" + string(raw) + "]")
	}
	var each []json.RawMessage
	if err := json.Unmarshal(raw, &each); err != nil {
		return xerrors.Errorf("got %s, want a list of objects", kind(raw))
	}
	*l = make(List[T], len(each))
	for i, r := range each {
		if r[0] != '{' {
			return xerrors.Errorf("item %d: got %s, want an object", i+1, kind(r))
		}
		if err := Decode(r, &(*l)[i]); err != nil {
			return xerrors.Errorf("item %d: %w", i+1, err)
		}
	}
	return nil
}

// item returns the type of the objects.
func (List[T]) item() reflect.Type { return reflect.TypeFor[T]() }

// maxSeconds is the largest number without a unit that counts as seconds.
// Models that are used to milliseconds write 1000 for a second and 120000 for
// two minutes. Few models write more than ten minutes in seconds.
const maxSeconds = 600

// Duration is how long to wait; "" leaves it alone.
type Duration time.Duration

func (d *Duration) decode(raw json.RawMessage) error {
	value, ok := scalar(raw)
	if !ok || kind(raw) == "a boolean" {
		return xerrors.Errorf(`got %s, want a duration such as "30s" or "1m30s"`, kind(raw))
	}
	if value == "" {
		return nil
	}
	parsed, err := parseDuration(value)
	*d = Duration(max(parsed, 0))
	return err
}

// parseDuration reads a Go duration, or a number of seconds.
func parseDuration(value string) (time.Duration, error) {
	seconds, err := strconv.ParseFloat(value, 64)
	d := time.Duration(math.Round(seconds * float64(time.Second)))
	switch bare := strings.Trim(value, "0123456789.eE+-") == ""; {
	case bare && seconds > float64(math.MaxInt64/time.Second):
		return 0, xerrors.Errorf(`got %.60s, which is too long; want a duration such as "30s" or "1m30s"`, value)
	case bare && seconds > maxSeconds:
		return 0, xerrors.Errorf("got %.60s without a unit: milliseconds would be %q, seconds would be %q; write the one that is meant",
			value, wording.Duration(d/1000), wording.Duration(d))
	case !bare || err != nil && !math.IsInf(seconds, 0):
		if d, err = time.ParseDuration(value); err != nil {
			return 0, xerrors.Errorf(`got %.60q, want a duration such as "30s" or "1m30s"`, value)
		}
	}
	if d < 0 || seconds < 0 {
		return 0, xerrors.Errorf(`got %.60s, which is negative; want a duration such as "30s", or "0s" not to wait`, value)
	}
	return d, nil
}
