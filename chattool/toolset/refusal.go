package toolset

import (
	"errors"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// mayHaveBegun reports whether the command may have begun although Start
// failed. By the rule of [procmgr.Manager] it may if the error is ErrUnknown or
// comes with the ID of the process. Any other error says that nothing was
// started.
func mayHaveBegun(out procmgr.Output, err error) bool {
	return out.Process.ID != "" || errors.Is(err, procmgr.ErrUnknown)
}

// refusal returns a result that says why nothing was started, and what to do.
func (r *run) refusal(err error) report {
	why := words(err)
	switch {
	case errors.Is(err, procmgr.ErrConflict):
		return refuse("nothing was started by this call: its process id %s belongs to another command, or to one that was stopped before it began (%s). Look at %s; call %s again if the command is still wanted",
			r.req.ID, why, r.kit.names.list, r.kit.names.execute)
	case errors.Is(err, procmgr.ErrLimit):
		return refuse("nothing was started: %s %s lists the processes of this chat, and %s ends one", wording.Sentence(why), r.kit.names.list, r.kit.names.signal)
	case errors.Is(err, procmgr.ErrClosed):
		return refuse("nothing was started: %s. No command can be run any more; tell the user", why)
	case never(err):
		return denied("started", err)
	case errors.Is(err, procmgr.ErrInvalid):
		return refuse("nothing was started: %s", why)
	}
	return refuse("nothing was started: %s Nothing was run, so it is safe to make the call once more; tell the user if it fails again", wording.Sentence(why))
}

// never reports whether an error says that a second try fails as well: the call is
// not allowed, or the host does not offer it.
func never(err error) bool {
	return errors.Is(err, procmgr.ErrRefused) || errors.Is(err, errors.ErrUnsupported)
}

// denied returns the result of a call whose error is never. did is the verb for the
// work that was not done.
func denied(did string, err error) report {
	if errors.Is(err, errors.ErrUnsupported) {
		return refuse("nothing was %s: %s This host does not offer it, and a second try will not change that: do it in another way, or tell the user if the task needs it",
			did, wording.Sentence(words(err)))
	}
	return refuse("nothing was %s: %s This was not allowed, and a second try will not be either: do not retry it, nor look for a way around it; tell the user if the task needs it",
		did, wording.Sentence(words(err)))
}
