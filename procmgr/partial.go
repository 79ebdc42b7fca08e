package procmgr

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A PartialError is the error of a call that asks many machines if some of them
// did not answer. List and Events return the answers of the others with it. A call
// with the ID of a process returns it if no machine that answered knows the ID.
type PartialError struct {
	// Missing has the machines that did not answer, and why.
	Missing map[string]error
}

// Error names each machine.
func (e *PartialError) Error() string {
	texts := make([]string, 0, len(e.Missing))
	for _, name := range slices.Sorted(maps.Keys(e.Missing)) {
		texts = append(texts, name+" ("+Reason(e.Missing[name])+")")
	}
	return fmt.Sprintf("%d machines have not answered: %s", len(texts), strings.Join(texts, ", "))
}
