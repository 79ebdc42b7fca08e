package toolset

import (
	"github.com/toolproc/toolproc/chattool/toolset/internal/notices"
)

// A kit is what the tools of a Set work with. It knows none of them.
type kit struct {
	managers Resolver
	opts     Options
	names    names
	page     writer
	shells   shells
	ledger   notices.Ledger
	memory   memory
	// noInput says that a manager has no Input, so that no note advises to use it.
	noInput answer[bool]
}
