package check

import (
	"maps"
	"slices"

	"github.com/toolproc/toolproc/procmgr"
)

// BytesOf returns the bytes of a key.
func BytesOf(k procmgr.Key) (string, error) { return KeyBytes(k, false) }

// NamedKeys returns the keys that have a name of their own.
func NamedKeys() []procmgr.Key { return slices.Sorted(maps.Keys(keys)) }
