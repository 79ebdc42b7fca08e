package prochttp

import (
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"time"

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

// decode reads one JSON object into the struct to which v points. It does that
// in one pass, and encoding/json takes two and says nothing of the names. If
// strict is not set, fields that v does not have are skipped. The error of data
// that is no JSON is a [json.SyntaxError].
func decode(data []byte, v any, strict bool) error {
	d := decoder{data: data, strict: strict}
	into := reflect.ValueOf(v).Elem()
	into.SetZero()
	err := d.object(into)
	if err == nil && d.next() != 0 {
		err = errSyntax
	}
	if err != nil {
		// Whatever comes first, a text that was cut is a text that was cut.
		if syntax := json.Unmarshal(data, new(json.RawMessage)); syntax != nil {
			return syntax
		}
	}
	return err
}

// maxDepth is how deep the values of a field may lie that is skipped, as in
// encoding/json.
const maxDepth = 10000

// errSyntax stands for the error that encoding/json has for the same data.
var errSyntax = xerrors.New("it is not JSON")

// wanted returns the error of a value of another type than the field.
func wanted(what string) error { return xerrors.Errorf("it is not %s", what) }

// A decoder reads a JSON text from its beginning to its end.
type decoder struct {
	data    []byte
	at      int // data up to here was read
	strict  bool
	depth   int
	scratch []byte // the last text that had an escape
}

// next returns the first byte after white space, or 0 at the end. It is not read
// yet.
func (d *decoder) next() byte {
	for ; d.at < len(d.data); d.at++ {
		switch c := d.data[d.at]; c {
		case ' ', '\t', '\r', '\n':
		case 0:
			return 1 // neither is a byte of JSON
		default:
			return c
		}
	}
	return 0
}

// value reads a value into v. null leaves v as it is, which is zero.
func (d *decoder) value(v reflect.Value) error {
	if d.next() == 'n' {
		return d.skip()
	}
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		return d.value(v.Elem())
	case reflect.Struct:
		switch own := v.Addr().Interface().(type) {
		case *procmgr.Usage:
			return d.usage(own)
		case json.Unmarshaler:
			began := d.at
			if err := d.skip(); err != nil {
				return err
			}
			return own.UnmarshalJSON(d.data[began:d.at])
		}
		return d.object(v)
	case reflect.Map:
		return d.texts(v)
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			text, err := d.text()
			if err == nil {
				text, err = base64.StdEncoding.AppendDecode([]byte{}, text)
				v.SetBytes(text)
			}
			return err
		}
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return d.each("[]", "an array", func(n int) error {
			v.Grow(1)
			v.SetLen(n + 1)
			return d.value(v.Index(n))
		})
	case reflect.String:
		text, err := d.text()
		v.SetString(string(text))
		return err
	case reflect.Bool:
		word := string(d.literal())
		v.SetBool(word == "true")
		if word != "true" && word != "false" {
			return wanted("true or false")
		}
		return nil
	case reflect.Int, reflect.Int64:
		n, err := strconv.ParseInt(string(d.literal()), 10, v.Type().Bits())
		v.SetInt(n)
		if err != nil {
			return wanted("a whole number")
		}
		return nil
	}
	return xerrors.Errorf("a %s cannot be read", v.Type())
}

// usage reads a Usage, which is in every process that has exited. Its own method
// would read it by encoding/json.
func (d *decoder) usage(u *procmgr.Usage) error {
	var form struct {
		User   string `json:"user"`
		System string `json:"system"`
		MaxRSS int64  `json:"max_rss"`
	}
	err := d.object(reflect.ValueOf(&form).Elem())
	if err == nil {
		u.MaxRSS = form.MaxRSS
		u.User, err = time.ParseDuration(form.User)
	}
	if err == nil {
		u.System, err = time.ParseDuration(form.System)
	}
	return err
}

// each reads the brackets and the commas of an array or an object, and calls
// member to read what is between them.
func (d *decoder) each(brackets, what string, member func(n int) error) error {
	if d.next() != brackets[0] {
		return wanted(what)
	}
	d.at++
	for n := 0; ; n++ {
		switch c := d.next(); {
		case c == brackets[1]:
			d.at++
			return nil
		case n == 0:
		case c != ',':
			return errSyntax
		default:
			d.at++
		}
		if err := member(n); err != nil {
			return err
		}
	}
}

// object reads an object into a struct.
func (d *decoder) object(v reflect.Value) error {
	fields := fieldsOf(v.Type())
	var seen uint64
	return d.each("{}", "an object", func(int) error {
		name, err := d.name()
		if err != nil {
			return err
		}
		f, known := fields[string(name)]
		switch {
		case !known && d.strict:
			return unknownField(fields, string(name))
		case !known:
			return d.skip()
		case d.strict && seen&f.bit != 0:
			return misnamed(f.name)
		}
		seen |= f.bit
		if err := d.value(v.FieldByIndex(f.index)); err != nil {
			return xerrors.Errorf("%q: %w", f.name, err)
		}
		return nil
	})
}

// texts reads an object into a map of strings, in which null is no string.
func (d *decoder) texts(v reflect.Value) error {
	m := make(map[string]string)
	v.Set(reflect.ValueOf(m))
	return d.each("{}", "an object", func(int) error {
		raw, err := d.name()
		if err != nil {
			return err
		}
		name := string(raw)
		if _, twice := m[name]; twice && d.strict {
			return misnamed(name)
		}
		if raw, err = d.text(); err != nil {
			return xerrors.Errorf("%.40q: %w", name, err)
		}
		m[name] = string(raw)
		return nil
	})
}

// name reads the name of a member and the colon. It is valid until the next text
// is read.
func (d *decoder) name() ([]byte, error) {
	name, err := d.text()
	if err == nil && d.next() != ':' {
		err = errSyntax
	}
	d.at++
	return name, err
}

func unknownField(fields map[string]field, name string) error {
	for known := range fields {
		if strings.EqualFold(known, name) {
			return misnamed(name)
		}
	}
	return xerrors.Errorf("json: unknown field %q", name)
}

func misnamed(name string) error {
	return xerrors.Errorf("%.40q is there twice, or in other letters than it should be", name)
}

// skip reads a value of any type.
func (d *decoder) skip() error {
	d.depth++
	defer func() { d.depth-- }()
	switch c := d.next(); {
	case d.depth > maxDepth:
		return errSyntax
	case c == '"':
		_, err := d.text()
		return err
	case c == '[':
		return d.each("[]", "", func(int) error { return d.skip() })
	case c == '{':
		return d.each("{}", "", func(int) error {
			if _, err := d.name(); err != nil {
				return err
			}
			return d.skip()
		})
	}
	if d.literal() == nil {
		return errSyntax
	}
	return nil
}

// literal reads a number or a word. It returns nil if there is none.
func (d *decoder) literal() []byte {
	began := d.at
	for d.at < len(d.data) && strings.IndexByte("+-.0123456789Eaeflnrstu", d.data[d.at]) >= 0 {
		d.at++
	}
	if word := d.data[began:d.at]; json.Valid(word) {
		return word
	}
	return nil
}

// A field is a field of a struct.
type field struct {
	name  string
	bit   uint64 // its place in a set of fields; no body has more than 64
	index []int
}

// fieldsOf returns the fields of a struct, and of the structs embedded in it, by
// their names in JSON.
func fieldsOf(t reflect.Type) map[string]field {
	if known, ok := knownFields.Load(t); ok {
		return known.(map[string]field)
	}
	fields := make(map[string]field)
	for _, f := range reflect.VisibleFields(t) {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			fields[name] = field{name, 1 << len(fields), f.Index}
		}
	}
	knownFields.Store(t, fields)
	return fields
}

// knownFields remembers what fieldsOf has found for the few types of bodies.
var knownFields sync.Map
