package prockeep

import (
	"encoding/json"

	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Main turns the program into a keeper if Open has started it as one; then it
// does not return. Otherwise it returns at once. Call it first in main, and in
// TestMain.
//
// A function makes the sandbox of the keeper from the JSON of
// Options.Local.Sandbox, such as sandbox.FromJSON of module
// github.com/toolproc/toolproc/sandbox. If there are several, the first one that returns
// no error counts. Without one, Open with a Sandbox is [procmgr.ErrInvalid].
func Main(sandboxes ...func(json.RawMessage) (proclocal.Sandbox, error)) {
	runKeeper(sandboxes)
}
