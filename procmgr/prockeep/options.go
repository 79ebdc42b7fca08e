package prockeep

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Options configures [Open]. The zero value of every field is its default.
type Options struct {
	// Local configures how processes run. Sandbox, Env, Redact, Cgroup and
	// Shell identify a keeper: if the one that runs has others, the error is
	// [procmgr.ErrConflict] and names the field. MaxRunning, MaxRunningPerChat, Retain and
	// OutputMemory are taken from the program that has opened the directory last, and
	// everything else from the program that started the keeper.
	//
	// Functions work in this program: PerChat and UpdateEnv are called at its own
	// starts, also if the ID turns out to be known. PerChat is no part of the identity.
	// OnStart, OnExit, Metrics and Logger get the events of the processes of all programs,
	// from Open to Close. Of Metrics, Started, Exited and Running are called, and Refused
	// for this program's own starts. Running begins with the number of processes that
	// live at Open, and gets by how much that number has changed, also if an event was
	// missed; Exited and OnExit also get the exits of these.
	//
	// A Sandbox, also a chat's, needs a method MarshalJSON, and a function of [Main] that
	// makes one like it; this one stays the caller's. If the sandbox has a method
	// Hide(dir string) error, the keeper calls it for its directory before it starts
	// anything. It keeps a chat's sandbox until it ends.
	Local proclocal.Options
	// Replace starts a new keeper with these options and this program, as a deploy
	// does. The earlier one starts nothing any more and ends when its processes have
	// ended and their results were kept for Retain. A program that opened the directory
	// with options of another identity gets [procmgr.ErrConflict] at its next start.
	Replace bool
	// Idle is how long a keeper stays while nothing runs and no requests come: 10 min
	// by default. A negative duration is for ever.
	Idle time.Duration
	// Logger gets a line when a keeper is started, for each failed attempt to reach
	// one, and for each request to a Handler; nil logs nothing. Local.Logger gets the
	// lines about processes and about functions of this program that fail.
	Logger *slog.Logger
}

// defaultIdle is the default of Options.Idle.
const defaultIdle = 10 * time.Minute

// An identity has a digest of each field of Options.Local in which a keeper and its users
// agree. Otherwise a program's commands would run without its sandbox or its masks.
type identity map[string]string

// check returns an error that names a field in which two identities differ.
func (id identity) check(keeper identity) error {
	for _, field := range slices.Sorted(maps.Keys(id)) {
		if id[field] != keeper[field] {
			return xerrors.Errorf("the keeper has another Options.Local.%s: open the directory with the same, replace the keeper (Options.Replace), or use another directory: %w", field, procmgr.ErrConflict)
		}
	}
	return nil
}

// An order says what a keeper is to do.
type order struct {
	Dir      string
	Local    localJSON
	Identity identity
	Idle     time.Duration
}

// localJSON has what a keeper needs of Options.Local. The fields below hide the fields
// of Options that stay in the opener's program or cannot travel as they are.
type localJSON struct {
	proclocal.Options
	Sandbox json.RawMessage `json:",omitempty"`

	Redact, UpdateEnv, WorkDir, PerChat, OnStart, OnExit, Metrics, Logger *struct{} `json:",omitempty"`
}

// newOrder returns the order for a keeper with some options.
func newOrder(dir string, o *Options) (made order, err error) {
	for _, s := range o.Local.Redact {
		if err := redact.Check(redact.Value(s)); err != nil {
			return made, xerrors.Errorf("Options.Local.Redact: %v: %w", err, procmgr.ErrInvalid)
		}
	}
	if err := resolve(&o.Local); err != nil {
		return made, err
	}
	made = order{Dir: dir, Idle: o.Idle, Local: localJSON{Options: o.Local}, Identity: make(identity)}
	if made.Idle == 0 {
		made.Idle = defaultIdle
	}
	if made.Local.Sandbox, err = encodeSandbox(o.Local.Sandbox); err != nil {
		return made, err
	}
	for field, value := range map[string]any{
		"Sandbox": made.Local.Sandbox, "Env": o.Local.Env, "Redact": o.Local.Redact,
		"Cgroup": o.Local.Cgroup, "Shell": o.Local.Shell,
	} {
		data, err := json.Marshal(value)
		if err != nil {
			return made, xerrors.Errorf("Options.Local.%s cannot be passed to the keeper (%v): %w", field, err, procmgr.ErrInvalid)
		}
		sum := sha256.Sum256(data)
		made.Identity[field] = hex.EncodeToString(sum[:16])
	}
	return made, nil
}

// encodeSandbox returns a sandbox as the keeper gets it; nil for none.
func encodeSandbox(box proclocal.Sandbox) (json.RawMessage, error) {
	if box == nil {
		return nil, nil
	}
	if _, ok := box.(json.Marshaler); !ok {
		return nil, xerrors.Errorf("the Sandbox has no method MarshalJSON, so the keeper cannot make one like it: %w", procmgr.ErrInvalid)
	}
	data, err := json.Marshal(box)
	if err != nil {
		return nil, xerrors.Errorf("the Sandbox cannot be passed to the keeper (%v): %w", err, procmgr.ErrInvalid)
	}
	return data, nil
}

// resolve makes the paths in the options absolute, because a keeper's directory is the
// root. A shell without a slash is looked up on PATH.
func resolve(o *proclocal.Options) (err error) {
	if o.WorkDir, err = baseenv.WorkDir(o.WorkDir); err == nil && o.WorkDir != "" {
		err = osproc.CheckDirectory(o.WorkDir)
	}
	if err != nil {
		return xerrors.Errorf("Options.Local.WorkDir: %w", err)
	}
	o.Shell = slices.Clone(o.Shell)
	paths := []*string{&o.LogDir, &o.Cgroup}
	if len(o.Shell) > 0 && strings.ContainsRune(o.Shell[0], filepath.Separator) {
		paths = append(paths, &o.Shell[0])
	}
	for _, path := range paths {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return xerrors.Errorf("a path is relative, and this program's own directory is gone: %w", procmgr.ErrInvalid)
		}
	}
	return nil
}

// limits returns what the keeper's next opener may change.
func (o order) limits() baseenv.Limits {
	l := &o.Local.Options
	return baseenv.Limits{MaxRunning: l.MaxRunning, MaxRunningPerChat: l.MaxRunningPerChat, Retain: l.Retain, OutputMemory: l.OutputMemory}
}

// makers make a sandbox from its JSON, see Main.
type makers []func(json.RawMessage) (proclocal.Sandbox, error)

// called is set once Main has been called.
var called atomic.Bool

var errNoMaker = xerrors.Errorf("the program calls prockeep.Main without a function that makes a sandbox: %w", procmgr.ErrInvalid)

// make makes a sandbox by the first function that returns no error.
func (m makers) make(data json.RawMessage) (box proclocal.Sandbox, err error) {
	err = errNoMaker
	for _, maker := range m {
		if box, err = maker(data); err == nil && box != nil {
			return box, nil
		}
	}
	return nil, xerrors.Errorf("the sandbox cannot be made: %w", err)
}
