package toolset

import (
	"reflect"
	"sync"

	"github.com/toolproc/toolproc/procmgr"
)

// maxPlaces is how many conversations the directories are remembered of. Beyond
// it all are forgotten, and told once more.
const maxPlaces = 1024

// places remembers which directory each conversation was told last, so that a
// model knows where it is and does not read it in every result.
type places struct {
	mu   sync.Mutex // guards told
	told map[conversation]place
}

// A conversation is a chat, or the user of a manager that has no chats.
type conversation struct {
	chat    string
	manager procmgr.Manager // nil if chat is set: a chat's manager may be another one at each call
}

// A place is where a command runs, and why not elsewhere.
type place struct{ dir, passedOver string }

// news reports whether a conversation has not been told of a place, and takes it
// for told.
func (ps *places) news(m procmgr.Manager, out procmgr.Output) bool {
	who := conversation{chat: out.Process.ChatID}
	if who.chat == "" && reflect.ValueOf(m).Comparable() {
		who.manager = m
	}
	where := place{out.Process.WorkDir, out.PassedOver}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if last := ps.told[who]; last == where || last.dir == where.dir && where.passedOver == "" {
		return false
	}
	if ps.told == nil || len(ps.told) >= maxPlaces {
		ps.told = make(map[conversation]place)
	}
	ps.told[who] = where
	return true
}

// place names the directory of a process, if the model was told another one last,
// or none.
func (r *report) place(ps *places, m procmgr.Manager, out procmgr.Output) {
	dir := out.Process.WorkDir
	if dir == "" || !ps.news(m, out) {
		return
	}
	r.WorkDir = dir
	if out.PassedOver != "" {
		r.add("The working directory is %s: the one that was set up cannot be used (%s).", dir, clip(out.PassedOver, maxWords))
	}
}
