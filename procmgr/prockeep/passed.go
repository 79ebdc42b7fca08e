package prockeep

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// defaultIdle is the default of Options.Idle.
const defaultIdle = 10 * time.Minute

// passed are the Options that one program passes to another.
type passed struct {
	// Local has the fields of Options.Local that are not zero.
	Local map[string]json.RawMessage `json:"local"`
	Path  string                     `json:"path,omitempty"`
	Idle  time.Duration              `json:"idle"` // nanoseconds; negative: for ever
}

// pass returns what can be passed on of the options.
func pass(o Options) (passed, error) {
	p := passed{Local: make(map[string]json.RawMessage), Path: o.Path, Idle: o.Idle}
	if p.Idle == 0 {
		p.Idle = defaultIdle
	}
	if err := resolve(&o.Local, &p.Path); err != nil {
		return passed{}, err
	}
	fields := reflect.ValueOf(o.Local)
	for i := range fields.NumField() {
		name, value := fields.Type().Field(i).Name, fields.Field(i)
		if value.IsZero() || name == "Redact" { // values travel with each start, and never on a disk
			continue
		}
		if name == nameSandbox {
			data, err := passSandbox(o)
			if err != nil {
				return passed{}, err
			}
			p.Local[name] = data
			continue
		}
		data, err := json.Marshal(value.Interface())
		if kind := value.Kind(); err != nil || kind == reflect.Pointer || kind == reflect.Interface {
			return passed{}, xerrors.Errorf("Options.Local.%s is or has a function, which cannot be passed to another program: docs/keeper.md says what takes its place: %w",
				name, procmgr.ErrInvalid)
		}
		p.Local[name] = data
	}
	return p, nil
}

// resolve makes the paths in the options absolute, because a keeper's directory
// is the root.
func resolve(local *proclocal.Options, program *string) error {
	local.Shell = slices.Clone(local.Shell)
	paths := []*string{&local.LogDir, &local.Cgroup, program}
	if len(local.Shell) > 0 {
		paths = append(paths, &local.Shell[0])
	}
	for _, path := range paths {
		isName := path != &local.LogDir && path != &local.Cgroup && !strings.ContainsRune(*path, filepath.Separator)
		if *path == "" || isName {
			continue // a name is looked up on PATH
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return xerrors.Errorf("the path %s is relative, and this program's own directory has gone: %w", *path, procmgr.ErrInvalid)
		}
		*path = abs
	}
	return nil
}

// options returns what was passed as Options.
func (p passed) options() (Options, error) {
	o := Options{Path: p.Path, Idle: p.Idle}
	fields := reflect.ValueOf(&o.Local).Elem()
	for name, data := range p.Local {
		if name == nameSandbox {
			continue // only a keeper has it
		}
		field := fields.FieldByName(name)
		if !field.IsValid() {
			return Options{}, xerrors.Errorf("Options.Local has no field %s here: it is of another version: %w", name, ErrIncompatible)
		}
		if err := json.Unmarshal(data, field.Addr().Interface()); err != nil {
			return Options{}, xerrors.Errorf("Options.Local.%s is of another version: %w", name, ErrIncompatible)
		}
	}
	return o, nil
}

// checkNames returns an error if one of the names is no field of Options.Local.
func checkNames(names []string) error {
	for _, name := range names {
		if _, ok := reflect.TypeFor[proclocal.Options]().FieldByName(name); !ok {
			return xerrors.Errorf("Options.Require has %.80q, which is no field of Options.Local: %w", name, procmgr.ErrInvalid)
		}
	}
	return nil
}

// agree returns an error that names the first of some fields in which the options
// of a running keeper differ from these.
func (p passed) agree(running passed, names []string) error {
	for _, name := range names {
		if !bytes.Equal(p.Local[name], running.Local[name]) {
			return &disagreement{name}
		}
	}
	return nil
}

// A disagreement is a field of Options.Require in which a running keeper has
// another value. The values are not told: they can have secrets.
type disagreement struct{ field string }

func (d *disagreement) Error() string {
	return "the keeper that runs has another Options.Local." + d.field + ", which Options.Require names: stop it first, or use another directory"
}

func (d *disagreement) Is(target error) bool { return target == procmgr.ErrConflict }
