package toolset

import (
	"github.com/toolproc/toolproc/chattool/toolset/internal/notices"
	"github.com/toolproc/toolproc/chattool/toolset/internal/recall"
)

// A kit is what the tools of a Set work with. It knows none of them.
type kit struct {
	managers Resolver
	opts     Options
	names    names
	page     writer
	places   places
	shells   shells
	ledger   notices.Ledger
	memory   recall.Memory[notices.Conversation]
	// noInput says that a manager has no Input, so that no note advises to use it.
	noInput answer[bool]
}
