package prockeep

import (
	"errors"
	"log/slog"
	"time"

	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// ErrIncompatible is the error of Open if the keeper that runs speaks another
// protocol than this program. It goes on, and keeps its processes.
var ErrIncompatible = errors.New("incompatible keeper")

// Options configures [Open]. The zero value of every field is its default.
type Options struct {
	// Local configures the keeper's [proclocal.Local], if this call starts the
	// keeper. A field that is a function, or that leads to functions as Logger
	// and Metrics do, cannot be passed on: if it is set, the error is
	// [procmgr.ErrInvalid] and names it. The keeper's own log lines go to
	// keeper.log in its directory. LogDir, Cgroup and a path in Shell are
	// resolved against this program's current directory.
	//
	// Sandbox needs a method MarshalJSON, and a function of Main that makes one like it;
	// this one stays the caller's. A keeper that already runs must have the same, as if
	// Require named it. The Options that a Keeper tells do not have it. When a new keeper
	// goes on with the processes, it makes another one: commands of before keep to their
	// rules, and those of after may be unable to signal them.
	Local proclocal.Options
	// Require has the names of fields of Local in which a keeper that already
	// runs must agree, such as "LogDir". If it does not, the error is
	// [procmgr.ErrConflict] and names the field. The fields are compared as
	// they were given: 0 differs from the default's value. An unknown name is
	// [procmgr.ErrInvalid]. In all other fields the options of the program that
	// started the keeper count, see [Keeper.Options].
	Require []string
	// Path is the keeper's program; its main function calls Main. "" is this
	// program.
	Path string
	// Idle is how long the keeper goes on when nothing runs and nobody asks:
	// 10 min by default. A negative duration is for ever. Its end forgets the
	// records and IDs of all processes.
	Idle time.Duration
	// Logger gets a line when a keeper is started, and for each failed attempt
	// to reach it; nil logs nothing.
	Logger *slog.Logger
}
