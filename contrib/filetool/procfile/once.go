package procfile

import (
	"context"
	"encoding/json"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// mostKeys is how many answers are remembered by their keys.
const mostKeys = 1024

// answers are those to requests that have a key. Whoever has the turn of the Local has them.
type answers struct {
	all   map[string]keyedAnswer
	order []string // oldest first
}

type keyedAnswer struct {
	request string // what it answers, so that a key is for one request
	res     []byte // as JSON, so that each caller may change its own
	err     error
}

// once waits for the turn and makes a change, or returns the answer to the same request. The
// answer to a request whose context ended before it did anything is not remembered.
func once[T any](ctx context.Context, l *Local, key string, request any, do func(*change) (T, error)) (res T, err error) {
	if len(key) > MaxKey || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return res, xerrors.Errorf("a key has up to %d printable ASCII characters: %w", MaxKey, procmgr.ErrInvalid)
	}
	c, err := l.begin(ctx)
	if err != nil {
		return res, err
	}
	defer func() { err = c.end(err) }()
	if key == "" {
		return do(c)
	}
	data, _ := json.Marshal(request) // it has strings and flags alone
	is := versionOf(data)
	if known, ok := l.answers.all[key]; ok {
		if known.request != is {
			return res, xerrors.Errorf("the key was used for another request: %w", procmgr.ErrConflict)
		}
		_ = json.Unmarshal(known.res, &res) // it was marshaled from a T
		return res, known.err
	}
	defer func() {
		if err == nil || ctx.Err() == nil {
			data, _ := json.Marshal(res) // texts and numbers can always be written
			l.answers.add(key, keyedAnswer{is, data, err})
		}
	}()
	err = xerrors.Errorf("the write has panicked: %w", procmgr.ErrUnknown) // in case it does
	return do(c)
}

func (a *answers) add(key string, answer keyedAnswer) {
	if len(a.order) >= mostKeys {
		delete(a.all, a.order[0])
		a.order = a.order[1:]
	}
	if a.all == nil {
		a.all = make(map[string]keyedAnswer)
	}
	a.all[key], a.order = answer, append(a.order, key)
}
