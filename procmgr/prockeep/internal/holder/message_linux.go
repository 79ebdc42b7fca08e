package holder

import (
	"encoding/binary"
	"time"

	"github.com/toolproc/toolproc/procmgr/internal/carry"
)

// Version is that of the messages between holder and keeper. A holder goes on
// through all upgrades of its keeper, so a program may meet one of another version.
const Version = 1

// The first byte of a message says what it is.
const (
	// From the keeper.
	tellGive    = 'G' // seq, roles; the files
	tellDrop    = 'D' // any number of: seq, role, or roleAll, or roleEnd
	tellLeaders = 'L' // any number of: seq, pid; their ends are kept
	tellAwait   = 'W' // seq, pid
	tellSettle  = 'T' // the keeper serves; it has taken what it got; unwritten or nothing
	tellUpgrade = 'U' // what the next program checks; its file
	tellCancel  = 'C' // no upgrade after all
	tellState   = 'S' // the state's file
	tellCommit  = 'X' // the state counts
	tellEnd     = 'E' // the keeper ends for good
	tellChecked = 'K' // from the next program: what is wrong, or ""

	// From the holder.
	sayHello   = 'H' // version, generation, flags; perhaps the state's file
	sayHeld    = 'h' // seq, roles; the files
	sayDead    = 'z' // any number of strays: pid, signal, whether it has ended
	sayTrapped = 't' // any number of strays that were killed before they began
	sayAll     = 'a' // nothing more of what was held
	sayEnded   = 'x' // seq, end; or seq alone if nobody knows
	sayReady   = 'u' // what is wrong with the upgrade, or ""
	sayStored  = 's' // the state is here
	sayCheck   = 'k' // version, what the next program checks
)

// The flags of sayHello.
const (
	flagState    = 1 << iota // a file with a state comes with it
	flagFallback             // the program of the upgrade has failed; this is the one before it
	flagCrash                // the keeper before this one has died
	flagUnsure               // sayDead may lack a child
	flagEnding               // the keeper before this one was about to end for good
)

// unwritten follows tellSettle if the keeper could not write down what it has found
// out.
const unwritten = 1

// A message is encoded field by field: numbers as uvarints, strings with their
// length before them.
type message []byte

func (m message) number(n uint64) message { return binary.AppendUvarint(m, n) }

func (m message) text(s string) message {
	return append(binary.AppendUvarint(m, uint64(len(s))), s...)
}

func (m message) end(e *carry.Status) message {
	return m.number(uint64(e.Code)).number(uint64(e.Signal)).
		number(uint64(e.User)).number(uint64(e.System)).number(uint64(e.MaxRSS))
}

// A reading reads a message field by field. After the first field that is not
// there, it is bad, and every field is empty.
type reading struct {
	rest []byte
	bad  bool
}

func (r *reading) number() uint64 {
	n, size := binary.Uvarint(r.rest)
	if size <= 0 {
		r.bad, r.rest = true, nil
		return 0
	}
	r.rest = r.rest[size:]
	return n
}

func (r *reading) text() string {
	n := r.number()
	if n > uint64(len(r.rest)) {
		r.bad, r.rest = true, nil
		return ""
	}
	s := string(r.rest[:n])
	r.rest = r.rest[n:]
	return s
}

func (r *reading) more() bool { return !r.bad && len(r.rest) > 0 }

func (r *reading) end() (e carry.Status) {
	e.Code, e.Signal = int(r.number()), int(r.number())
	e.User, e.System = time.Duration(r.number()), time.Duration(r.number())
	e.MaxRSS = int64(r.number())
	return e
}
