package prockeep

import "time"

// protocol is the version of what programs and keepers say to each other, the file "ids"
// included. It changes if one side would misunderstand the other one.
const protocol = 1

// pathKeeper is the keeper's own endpoint: GET greets it, POST greets it with an identity
// and limits, DELETE ends it. It has one segment, so it is the path of no process.
const pathKeeper = "/keeper"

// A hello is the body of a greeting, and its answer.
type hello struct {
	Identity identity `json:",omitempty"`
	Limits   limits   `json:",omitzero"`

	// Of an answer.
	Token    string `json:",omitempty"`
	Conflict string `json:",omitempty"` // the field in which the identities differ
	Ending   bool   `json:",omitempty"`
	Error    string `json:",omitempty"` // of an end: what survived
}

// nameLog is the file with what keepers have logged, and their last words.
const nameLog = "keeper.log"

const (
	// tick is how often a keeper looks whether there is anything to do besides serving.
	tick = time.Second
	// survivorGrace is how long what a dead keeper has left has between SIGTERM and
	// SIGKILL.
	survivorGrace = 5 * time.Second
)
