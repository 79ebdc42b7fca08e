package toolset

import (
	"sync"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/chattool/toolset/internal/notices"
	"github.com/toolproc/toolproc/procmgr"
)

// maxPlaces is how many conversations places remembers. If there are more, it
// forgets all of them, and each is told its directory once more.
const maxPlaces = 1024

// places remembers which directory each conversation was told last. So a model
// knows where it is and need not read it in every result.
type places struct {
	mu   sync.Mutex // guards told
	told map[notices.Conversation]place
}

// A place is the directory in which a command runs, and the reason why it is
// not another one.
type place struct{ dir, passedOver string }

// news reports whether a conversation has not yet been told of a place, and
// records that it now has.
func (ps *places) news(m procmgr.Manager, out procmgr.Output) bool {
	who := notices.ConversationOf(m, out.Process.ChatID)
	where := place{out.Process.WorkDir, out.PassedOver}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if last := ps.told[who]; last == where || last.dir == where.dir && where.passedOver == "" {
		return false
	}
	if ps.told == nil || len(ps.told) >= maxPlaces {
		ps.told = make(map[notices.Conversation]place)
	}
	ps.told[who] = where
	return true
}

// place adds the directory of a process to the report if the model was told
// another one last, or none.
func (r *report) place(ps *places, m procmgr.Manager, out procmgr.Output) {
	dir := out.Process.WorkDir
	if dir == "" || !ps.news(m, out) {
		return
	}
	r.WorkDir = dir
	if out.PassedOver != "" {
		r.Add("The working directory is %s: the one that was set up cannot be used (%s).", wording.Odd(dir), wording.Clip(out.PassedOver, wording.MaxWords))
	}
}
