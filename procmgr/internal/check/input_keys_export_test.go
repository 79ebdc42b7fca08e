package check

import (
	"maps"
	"slices"

	"github.com/toolproc/toolproc/procmgr"
)

// NamedKeys returns the keys that have a name of their own.
func NamedKeys() []procmgr.Key { return slices.Sorted(maps.Keys(keys)) }
