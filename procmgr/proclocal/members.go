package proclocal

import (
	"errors"
	"runtime"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// checkMembers returns an error if a request asks for members, and nobody can tell
// them.
func checkMembers(req procmgr.OutputRequest) error {
	if req.Members && !osproc.TellsMembers {
		return xerrors.Errorf("the members of a process cannot be told on %s: %w", runtime.GOOS, errors.ErrUnsupported)
	}
	return nil
}

// tellMembers sets out.Members if a request asks for it.
func (r *record) tellMembers(s *osproc.System, out *procmgr.Output, req procmgr.OutputRequest) error {
	if !req.Members || out.Process.State == procmgr.Exited {
		return nil
	}
	all, looked := s.Members(r.tree)
	if !looked {
		return xerrors.Errorf("the members cannot be told, because no file descriptor is left: %w", procmgr.ErrLimit)
	}
	for _, m := range all {
		out.Members = append(out.Members, procmgr.Member{
			PID: m.PID, Parent: m.Parent, Name: m.Name, Memory: m.Memory, CPU: m.User + m.System,
		})
	}
	return nil
}
