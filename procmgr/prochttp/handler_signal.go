package prochttp

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/check"
	"github.com/toolproc/toolproc/procmgr/internal/idempotency"
)

// maxSignals is how many answers to signals the handler remembers.
const maxSignals = 4096

// signal serves a signal. It sends the signals of all requests with the same key
// only once: a second SIGINT makes many programs give up their clean-up. The sending
// goes on when the request ends, because a caller whose connection was cut asks again
// for the answer.
func (r *request) signal() {
	var body signalBody
	if !r.body(&body) {
		return
	}
	if err := cmp.Or(check.Signal(body.Signal), check.ID(r.id)); err != nil {
		r.failWith(err, nil)
		return
	}
	ctx, key := r.Context(), r.Header.Get(headerKey)
	if key != "" {
		if err := checkKey(key); err != nil {
			r.failWith(err, nil)
			return
		}
		var cancel func()
		ctx, cancel = context.WithTimeout(context.WithValue(context.WithoutCancel(ctx), forwardedKey{}, key), signalTime)
		defer cancel()
		key = strings.Join([]string{key, string(body.Signal), r.chat, r.id}, "\x00")
	}
	r.extend(signalTime)
	sent, err := r.h.signals.Do(r.Context(), key, idempotency.Fingerprint{}, func(sent *error) (refused bool) {
		*sent = errPanicked // in case Signal panics
		*sent = r.manager.Signal(ctx, r.id, body.Signal)
		return false
	})
	if err == nil {
		err = *sent
	}
	if err != nil {
		r.failWith(err, nil)
		return
	}
	r.answer(http.StatusOK, struct{}{})
}

// errPanicked is the answer to a repeated request if the host panicked.
var errPanicked = xerrors.New("the host panicked")
