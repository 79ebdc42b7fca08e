package prochttp

import (
	stdjson "encoding/json"
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// decodeStrict reads the body of a request, one JSON object. It refuses
// everything that encoding/json would guess, because a command must not run
// otherwise than its caller wrote it. It refuses fields that v does not have,
// names that come twice or in another case, and text that is not Unicode, which
// encoding/json would change.
func decodeStrict(data []byte, v any) error {
	if err := decode(data, v, true); err != nil {
		return xerrors.Errorf("the body is not the JSON object of this endpoint (%v): %w", err, procmgr.ErrInvalid)
	}
	return nil
}

// decode reads one JSON object into the struct to which v points. If strict is
// not set, fields that v does not have are skipped. The error of data that is no
// JSON is a [stdjson.SyntaxError].
func decode(data []byte, v any, strict bool) error {
	reflect.ValueOf(v).Elem().SetZero()
	err := json.Unmarshal(data, v, json.RejectUnknownMembers(strict), jsontext.AllowDuplicateNames(!strict), jsontext.AllowInvalidUTF8(!strict), values)
	if err == nil && jsontext.Value(data).Kind() != '{' {
		err = xerrors.New("it is not an object")
	}
	if err == nil {
		return nil
	}
	// Whatever comes first, a text that was cut is a text that was cut.
	if syntax := stdjson.Unmarshal(data, new(stdjson.RawMessage)); syntax != nil {
		return syntax
	}
	return explained(err)
}

// values is an option that reads values in another way than package json does.
var values = json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(text), json.UnmarshalFromFunc(nanoseconds)))

// text refuses null for a variable: it is no text, and may be meant to unset it.
func text(d *jsontext.Decoder, _ *string) error {
	if d.PeekKind() == 'n' && strings.HasPrefix(string(d.StackPointer()), "/env/") {
		return xerrors.New("it is not a string")
	}
	return errors.ErrUnsupported
}

// nanoseconds reads a duration as encoding/json writes it.
func nanoseconds(d *jsontext.Decoder, to *time.Duration) error {
	var n int64
	err := json.UnmarshalDecode(d, &n)
	*to = time.Duration(n)
	return err
}

// explained returns an error of package json without the types of Go in it.
func explained(err error) error {
	if syntax, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		if errors.Is(err, jsontext.ErrDuplicateName) {
			return xerrors.Errorf("%.40q is there twice", syntax.JSONPointer.LastToken())
		}
		return syntax.Err
	}
	wrong, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return err
	}
	name := wrong.JSONPointer.LastToken()
	switch {
	case errors.Is(err, json.ErrUnknownName):
		return xerrors.Errorf("json: unknown field %q", name)
	case wrong.Err != nil:
		return xerrors.Errorf("%.40q: %w", name, wrong.Err)
	default:
		return xerrors.Errorf("%.40q: it cannot be a JSON %s", name, wrong.JSONKind)
	}
}
