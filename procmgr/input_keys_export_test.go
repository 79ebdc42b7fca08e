package procmgr

import (
	"maps"
	"slices"
)

// BytesOf returns the bytes of a key.
func BytesOf(k Key) (string, error) { return k.bytes(false) }

// NamedKeys returns the keys that have a name of their own.
func NamedKeys() []Key { return slices.Sorted(maps.Keys(keys)) }
