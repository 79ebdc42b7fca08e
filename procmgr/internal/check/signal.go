package check

import (
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// Signal returns an error if the signal is unknown.
func Signal(s procmgr.Signal) error {
	switch s {
	case procmgr.Terminate, procmgr.Interrupt, procmgr.Kill:
		return nil
	}
	return xerrors.Errorf("unknown signal %.40q, use terminate, interrupt or kill: %w", string(s), procmgr.ErrInvalid)
}
