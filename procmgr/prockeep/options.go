package prockeep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Options configures [Open]. The zero value of every field is its default.
type Options struct {
	// Local configures how processes run. Sandbox, Env, Redact, NoRedact, Cgroup and
	// Shell identify a keeper: if the one that runs has others, the error is
	// [procmgr.ErrConflict] and names the field. Of Retain, MaxRunning and
	// MaxRunningPerChat, the values of the program that opened the directory last
	// apply. Everything else is taken from the program that started the keeper.
	//
	// Functions work in this program: WorkDir and UpdateEnv are called at its own
	// starts. OnStart, OnExit, Metrics and Logger are told of the processes of all
	// programs, as Events has them, from Open to Close. Of Metrics, that is Started,
	// Exited and Running, and Refused for this program's own starts.
	//
	// Sandbox needs a method MarshalJSON, and a function of [Main] that makes one like
	// it; this one stays the caller's. If the sandbox has a method Hide(dir string)
	// error, the keeper calls it for its directory before it starts anything.
	Local proclocal.Options
	// Replace starts a new keeper with these options and this program, as a deploy
	// does. The earlier one starts nothing any more and ends when its processes have
	// ended and their results were kept for Retain. A program that opened the directory
	// with options of another identity gets [procmgr.ErrConflict] at its next start.
	Replace bool
	// Path is the keeper's program; its main function calls Main. "" is this program.
	Path string
	// Idle is how long a keeper stays when nothing runs and nobody asks: 10 min by
	// default. A negative duration is for ever.
	Idle time.Duration
	// Logger gets a line when a keeper is started, and for each failed attempt to reach
	// one; nil logs nothing.
	Logger *slog.Logger
}

// defaultIdle is the default of Options.Idle.
const defaultIdle = 10 * time.Minute

const nameSandbox = "Sandbox"

// identifying are the fields of Options.Local in which a keeper and its users agree.
// Otherwise a program's commands would run without its sandbox or its masks.
var identifying = []string{nameSandbox, "Env", "Redact", "NoRedact", "Cgroup", "Shell"}

// notPassed are the fields of Options.Local that stay in the opener's program. Values to
// mask travel with each start, and limits with each greeting.
var notPassed = []string{
	"Redact", "UpdateEnv", "WorkDir", "OnStart", "OnExit", "Metrics", "Logger", "Retain", "MaxRunning", "MaxRunningPerChat",
}

// An identity has a digest of each identifying field that is set.
type identity map[string]string

// differs returns a field in which two identities differ, or "".
func (id identity) differs(other identity) string {
	for _, name := range identifying {
		if id[name] != other[name] {
			return name
		}
	}
	return ""
}

// conflict is the error of a start or a greeting with another identity.
func conflict(field string) error {
	return xerrors.Errorf("the keeper has another Options.Local.%s: open the directory with the same, replace the keeper (Options.Replace), or use another directory: %w", field, procmgr.ErrConflict)
}

// limits are what the program that opened a directory last decides.
type limits struct {
	Retain            time.Duration
	MaxRunning        int
	MaxRunningPerChat int
}

// passed are the Options that a program passes to the keeper that it starts.
type passed struct {
	Local    map[string]json.RawMessage // the fields of Options.Local that are not zero
	Identity identity
	Limits   limits
	Idle     time.Duration
}

// pass returns what a keeper needs of the options.
func pass(o *Options) (passed, error) {
	p := passed{
		Local: make(map[string]json.RawMessage), Identity: make(identity), Idle: o.Idle,
		Limits: limits{o.Local.Retain, o.Local.MaxRunning, o.Local.MaxRunningPerChat},
	}
	if p.Idle == 0 {
		p.Idle = defaultIdle
	}
	for _, s := range o.Local.Redact {
		if err := redact.Check(redact.Value(s)); err != nil {
			return passed{}, xerrors.Errorf("Options.Local.Redact: %v: %w", err, procmgr.ErrInvalid)
		}
	}
	if err := resolve(o); err != nil {
		return passed{}, err
	}
	fields := reflect.ValueOf(o.Local)
	for i := range fields.NumField() {
		name, value := fields.Type().Field(i).Name, fields.Field(i)
		isIdentity, stays := slices.Contains(identifying, name), slices.Contains(notPassed, name)
		if value.IsZero() || stays && !isIdentity {
			continue
		}
		if name == nameSandbox {
			if err := canPassSandbox(o); err != nil {
				return passed{}, err
			}
		}
		data, err := json.Marshal(value.Interface())
		if err != nil {
			return passed{}, xerrors.Errorf("Options.Local.%s cannot be passed to the keeper (%v): %w", name, err, procmgr.ErrInvalid)
		}
		if isIdentity {
			sum := sha256.Sum256(data)
			p.Identity[name] = hex.EncodeToString(sum[:])
		}
		if !stays {
			p.Local[name] = data
		}
	}
	return p, nil
}

// resolve makes the paths in the options absolute, because a keeper's directory is the
// root.
func resolve(o *Options) error {
	o.Local.Shell = slices.Clone(o.Local.Shell)
	programs := []*string{&o.Path}
	if len(o.Local.Shell) > 0 {
		programs = append(programs, &o.Local.Shell[0])
	}
	for _, path := range append(programs, &o.Local.LogDir, &o.Local.Cgroup) {
		isName := slices.Contains(programs, path) && !strings.ContainsRune(*path, filepath.Separator)
		if *path == "" || isName {
			continue // a name is looked up on PATH
		}
		abs, err := filepath.Abs(*path)
		if err != nil {
			return xerrors.Errorf("the path %s is relative, and this program's own directory is gone: %w", *path, procmgr.ErrInvalid)
		}
		*path = abs
	}
	return nil
}

// local returns the options of a keeper's Local.
func (p *passed) local(sandboxes makers) (o proclocal.Options, err error) {
	fields := reflect.ValueOf(&o).Elem()
	for name, data := range p.Local {
		if name == nameSandbox {
			o.Sandbox, err = sandboxes.make(data)
		} else if field := fields.FieldByName(name); field.IsValid() {
			err = json.Unmarshal(data, field.Addr().Interface())
		} else {
			err = errors.New("there is no such field")
		}
		if err != nil {
			return o, xerrors.Errorf("Options.Local.%s: %w", name, err)
		}
	}
	// The keeper counts over all generations, in the file "ids".
	o.MaxRunning, o.MaxRunningPerChat, o.Retain = -1, -1, p.Limits.Retain
	return o, nil
}

// makers make a sandbox from its JSON, see Main.
type makers []func(json.RawMessage) (proclocal.Sandbox, error)

// called and makes are set once Main has been called, and once it has been called with a
// function that makes a sandbox. They never change back.
var called, makes atomic.Bool

var errNoMaker = xerrors.Errorf("the keeper's program calls prockeep.Main without a function that makes a sandbox: %w", procmgr.ErrInvalid)

// canPassSandbox returns an error if the keeper cannot make the sandbox of the options.
func canPassSandbox(o *Options) error {
	if _, ok := o.Local.Sandbox.(json.Marshaler); !ok {
		return xerrors.Errorf("Options.Local.Sandbox has no method MarshalJSON, so the keeper cannot make one like it: %w", procmgr.ErrInvalid)
	}
	if o.Path == "" && called.Load() && !makes.Load() {
		return xerrors.Errorf("Options.Local.Sandbox: %w", errNoMaker)
	}
	return nil
}

// make makes a sandbox by the first function that returns no error.
func (m makers) make(data json.RawMessage) (proclocal.Sandbox, error) {
	err := errNoMaker
	for _, maker := range m {
		var box proclocal.Sandbox
		if box, err = maker(data); err == nil && box != nil {
			return box, nil
		}
	}
	return nil, err
}

// hideFrom lets a sandbox hide a directory from its commands, if it can hide any.
func hideFrom(box proclocal.Sandbox, dir string) error {
	hider, ok := box.(interface{ Hide(dir string) error })
	if !ok {
		return nil
	}
	if err := hider.Hide(dir); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return xerrors.Errorf("the sandbox does not hide the keeper's directory: %w", err)
	}
	return nil
}

// minimalEnv is the environment of a keeper. Every command can read it.
func minimalEnv() (env []string) {
	for _, name := range []string{"PATH", "HOME", "LANG", "TMPDIR"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}
