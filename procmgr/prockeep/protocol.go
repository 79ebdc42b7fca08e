package prockeep

import (
	"time"

	"golang.org/x/xerrors"
)

// protocol is the version of everything that programs and keepers say to each
// other. It changes if one side would misunderstand the other one.
const protocol = 1

// pathKeeper is the keeper's own endpoint: GET tells its status, DELETE ends it.
// It has one segment, so it is the path of no process.
const pathKeeper = "/keeper"

// A status is what a keeper tells about itself.
type status struct {
	Protocol int    `json:"protocol"`
	PID      int    `json:"pid"`
	Boot     string `json:"boot,omitempty"` // the boot of its machine, if the system tells
	Options  passed `json:"options"`
	// Tokens names this keeper, last, and the dead ones for which it goes on.
	Tokens []string `json:"tokens,omitempty"`
	// Upgrades names the last upgrades after which this keeper goes on.
	Upgrades []string `json:"upgrades,omitempty"`
}

// token is the keeper's own; "" if it has not told it.
func (s *status) token() string {
	if len(s.Tokens) == 0 {
		return ""
	}
	return s.Tokens[len(s.Tokens)-1]
}

// greetTime is how long a keeper may take to tell its status.
const greetTime = 30 * time.Second

// errAbsent is the error of a socket behind which there is no keeper any more, or
// not yet.
var errAbsent = xerrors.New("no keeper runs")

// errEnded is errAbsent for a keeper that was there and ended in the midst of a
// request. After an upgrade another one goes on for it.
var errEnded = xerrors.Errorf("the keeper has just ended: %w", errAbsent)

// maxBody is the limit of a request to a keeper in bytes. It has room for a
// command and an environment of the largest size that Linux runs.
const maxBody = 16 << 20

// basePaths are the endpoints whose requests bring what their caller starts from.
var basePaths = []string{pathStart, "/read", "/write", "/edit"}

const (
	pathStart = "/start"
	// headerPassed marks a request that Keeper.Handler has passed on. It is not
	// for the keeper's own endpoint, by which the keeper is ended.
	headerPassed   = "Toolproc-Passed"
	headerInstance = "Toolproc-Instance"
)

// saveTime is how long an upgrade waits for calls that must not be cut off, such
// as a kill.
const saveTime = 15 * time.Second

// An upgradeRequest is the body of the request for an upgrade. The program follows
// as a descriptor once the keeper has switched protocols.
type upgradeRequest struct {
	Upgrade string `json:"upgrade"` // a name that no other one has
}
