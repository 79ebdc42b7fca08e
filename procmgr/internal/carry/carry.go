// Package carry lets a Local outlive its program. A Keep is told of everything
// that a Local cannot find out again: it writes that down, and holds the
// descriptors. With these, another program makes a Local that goes on: from the
// whole state if the first one could be saved, else from the records.
//
// It has hardly any code of its own: package proclocal makes, saves and restores a
// Local with these types, and package prockeep calls it.
package carry

import "time"

// A Key names the process of a record. Seq is never 0, and never used again.
type Key struct {
	Seq      uint64
	Chat, ID string
}

// A Leader names the leader of a process for sure: by its number, and by when it
// began, as package procstat tells that. PID is 0 if there is none yet, and Start if
// nobody knows, as on other systems than Linux.
type Leader struct {
	PID   int
	Start uint64
}

// A Role says what a descriptor is for.
type Role string

const (
	Output   Role = "output"   // the read end of stdout and stderr
	Input    Role = "input"    // the write end of stdin
	Terminal Role = "terminal" // this program's end of all three
	LogLock  Role = "log_lock" // of the Local: the lock of its directory of logs
	Cgroups  Role = "cgroups"  // of the Local: the lock of its directory of cgroups
	Tally    Role = "tally"    // of the Local: its tally.Table
	Secrets  Role = "secrets"  // of the Local: its vault.Vault
)

// A File is a descriptor. In a call of a Keep it is the Local's, and valid during
// the call: a Keep that wants to keep it, duplicates it.
type File struct {
	Role Role
	FD   int
}

// A Keep is told what happens to the processes of a Local. A record is opaque and
// whole: the last one of a key is all that counts, so that older ones can be
// dropped. Several goroutines call it at once, and for one key one at a time.
type Keep interface {
	// Began gives the record and the files of the Local itself. It is called
	// before the first process starts, and again when they change. An error
	// means that no Local can be made.
	Began(record []byte, files []File) error
	// Starting is called before a fork. After an error nothing is forked, and
	// the start is refused with that error. It may be called again for a key:
	// the files of the call before are then closed.
	Starting(k Key, record []byte, files []File) error
	// Started is called after the fork; if the system allows that, before the
	// first instruction of the command.
	Started(k Key, leader Leader, record []byte)
	// NotStarted says that nothing has run: the ID is unused again.
	NotStarted(k Key)
	// Turned is called before anybody hears of a change: when the leader has
	// exited and is not yet reaped, when other members live on, when nothing is
	// left, when a caller has asked for the end, and for an ID that a stop has
	// spent, which has nothing else. If the record cannot be written, the Keep
	// keeps it, and tries again.
	Turned(k Key, record []byte)
	// Dropped says that some files of a process are closed, or all of them if
	// there are no roles. It must not block: a lock may be held.
	Dropped(k Key, roles ...Role)
	// Forgotten says that an ID is remembered no longer. It must not block: a
	// lock may be held.
	Forgotten(k Key)
	// Await returns a channel that gets the end of a leader that is not this
	// program's child. It is closed if nobody knows, and also after the end. The
	// leader is not reaped before this call. It may be called again for a key.
	Await(k Key, leader Leader) <-chan Status
}

// A Status is how a leader ended. The zero Usage is none.
type Status struct {
	Code         int // if Signal is 0
	Signal       int // of signal(7); 0 if the leader exited by itself
	User, System time.Duration
	MaxRSS       int64 // bytes
}

// A State is a Local that was saved.
type State struct {
	Version int
	Data    []byte
	// Files are duplicates, by the Seq of their keys; 0 has those of the Local.
	// They are the caller's to close or to give to Restore.
	Files map[uint64][]File
}

// Version is that of the states that Save writes, and of the records. It grows if
// another program would read one of them wrongly. A program reads its own alone.
const Version = 1

// An Entry is what a journal knows about a key.
type Entry struct {
	Key
	// Record is the last one that can be read; nil if there is none: then the ID
	// is known, and nobody knows what has become of it.
	Record []byte
	// Started reports that Started, or anything after it, was noted.
	Started bool
}

// A Journal is what a Keep has written down about a Local that died.
type Journal struct {
	Local   []byte  // the last record of Began
	Entries []Entry // by Seq
	Files   map[uint64][]File
	// Holes reports that there was a line of which not even the key can be read.
	Holes bool
	// Strays are the children of the dead program that no entry names, and that
	// may have run a command: they have reached their exec and ended, or nobody
	// can tell. If there is none, an entry that is not Started, and of which
	// nothing lives, has run nothing. Unsure says that some may be lacking.
	Strays []Leader
	Unsure bool
}
