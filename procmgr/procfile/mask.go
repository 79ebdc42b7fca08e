package procfile

import (
	"slices"
	"strings"
	"sync"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
)

// masks remembers the Set of the values that are masked: the environment hardly ever
// changes between two calls.
type masks struct {
	mu   sync.Mutex // guards the fields below
	from *baseenv.Applied
	set  *redact.Set
}

func (m *masks) of(env *baseenv.Applied, more []redact.Value) *redact.Set {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.from != env {
		m.from, m.set = env, redact.Compile(slices.Concat(more, env.Secrets))
	}
	return m.set
}

// checkMarkers refuses a text in which words stand that stand for a value: whoever
// wrote it has read them in the place of the value, and would write them there.
func checkMarkers(set *redact.Set, before, after string) error {
	if !strings.Contains(after, "[withheld: ") {
		return nil
	}
	for _, name := range set.Names() {
		if strings.Count(after, marker(name)) > strings.Count(before, marker(name)) {
			return xerrors.Errorf("%s stands for a value that cannot be seen here, and these words would be written in its place: leave that part as it is in the file, or let a command write it: %w",
				marker(name), procmgr.ErrInvalid)
		}
	}
	return nil
}

// mask masks the values in a line.
func mask(set *redact.Set, line string) string {
	spans := set.Find([]byte(line))
	for _, s := range slices.Backward(spans) {
		line = line[:s.From] + marker(set.Name(s)) + line[s.To:]
	}
	return line
}
