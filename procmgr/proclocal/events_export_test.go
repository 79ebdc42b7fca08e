package proclocal

import (
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// These are how many events are kept, and how many of one chat.
const (
	MaxEvents     = maxEvents
	MaxChatEvents = maxChatEvents
)

// Tell notes n events of a chat, of a process that there is not.
func Tell(l *Local, chat string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for range n {
		l.happened(procmgr.EventStarted, time.Time{}, procmgr.Process{ID: "x", ChatID: chat, Command: "true"}, "")
	}
}
