// Package retention remembers within bounds: the events of processes, and the ends of
// those processes whose records are gone. All chats share the room fairly, so no chat
// can push out what another one has. It locks nothing: its user's lock guards all.
package retention

import (
	"strings"

	"github.com/toolproc/toolproc/procmgr"
)

// MaxTombstones is how many IDs are remembered after their records have gone.
const MaxTombstones = 16384

// maxEpitaph is how many bytes of a command a tombstone and an event keep.
const maxEpitaph = 256

// CutShort returns what is kept of a command.
func CutShort(command string) string {
	if len(command) <= maxEpitaph {
		return command
	}
	return strings.ToValidUTF8(command[:maxEpitaph], "") + "…"
}

// Clone returns a copy that shares no memory with p.
func Clone(p procmgr.Process) procmgr.Process {
	if p.ExitCode != nil {
		code := *p.ExitCode
		p.ExitCode = &code
	}
	if p.Waiting != nil {
		waiting := *p.Waiting
		p.Waiting = &waiting
	}
	return p
}
