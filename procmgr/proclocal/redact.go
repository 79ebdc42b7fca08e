package proclocal

import (
	"slices"
	"sync"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
)

// A Secret is a value to mask in output: [withheld: NAME] takes its place in text,
// logs, events, searches and screens, where - fills the cells of a longer value. It is
// masked as it is. From 12 bytes on it is also masked in base64 in its three
// alignments, percent-encoded, as in a JSON string and in hexadecimal digits. Value has
// at least 4 bytes besides line ends. A value of fewer than 16 bytes makes the search
// for all of them slower.
//
// Values of variables that look like secrets to [Options.Env] are masked without being
// named. This includes variables that Env lets through, that Set or UpdateEnv adds or
// that a request has, but not variables that Exclude or IncludeOnly drops. Such a value
// has 16 bytes or more, 12 of A-Z a-z 0-9 + / = in a row with a letter and a digit
// among them, and is no path, no host name, and not also the value of another variable
// that commands get. In a value of several lines, each such line is a value; in a URL
// with a password, the URL and the password are.
//
// Masking is no boundary: a command that prints a value backwards, or a byte a line,
// gets it through. Commands see the real values in files and in their environment.
type Secret struct{ Name, Value string }

// checkSecrets returns an error that says which secret cannot be masked, or nil.
func checkSecrets(secrets []Secret) error {
	for _, s := range secrets {
		if err := redact.Check(redact.Value(s)); err != nil {
			return xerrors.Errorf("Options.Redact: %v: %w", err, procmgr.ErrInvalid)
		}
	}
	return nil
}

// masks compiles the values to mask once for each list of them.
type masks struct {
	mu    sync.Mutex
	known []mask // the newest one comes last
}

type mask struct {
	values []redact.Value
	set    *redact.Set
}

// maxMasks is how many lists are remembered. Most programs have one.
const maxMasks = 16

func (m *masks) of(values []redact.Value) *redact.Set {
	if len(values) == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, k := range m.known {
		if slices.Equal(k.values, values) {
			return k.set
		}
	}
	if len(m.known) == maxMasks {
		m.known = slices.Delete(m.known, 0, 1)
	}
	set := redact.Compile(values)
	m.known = append(m.known, mask{values, set})
	return set
}

// secrets returns the values to mask in the output of a command: Options.Redact, what
// host has from the host's environment, and the secrets among the variables of the
// request. env is what the command gets.
func (l *Local) secrets(host []redact.Value, request, env []string) []redact.Value {
	values := make([]redact.Value, 0, len(l.opts.Redact)+len(host))
	for _, s := range l.opts.Redact {
		values = append(values, redact.Value(s))
	}
	return slices.Concat(values, host, baseenv.Secrets(request, env))
}
