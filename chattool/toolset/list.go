package toolset

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// maxListed is how many processes a list has at most.
	maxListed = 20
	// maxListedCommand is how much of a command it shows, in bytes: enough to
	// tell commands apart, and too little for a heredoc.
	maxListedCommand = 200
)

// A listing is what a model reads about all of its processes.
type listing struct {
	Processes []listed `json:"processes"` // never null
	Omitted   int      `json:"omitted"`   // how many more there are
}

type listed struct {
	ProcessID      string        `json:"process_id"`
	Command        string        `json:"command"`
	WorkDir        string        `json:"workdir,omitempty"`
	State          procmgr.State `json:"state"`
	ExitCode       *int          `json:"exit_code,omitempty"`
	Signal         string        `json:"signal,omitempty"`
	Background     bool          `json:"background,omitempty"`
	StartedAt      string        `json:"started_at,omitempty"`
	WallDurationMS *int64        `json:"wall_duration_ms,omitempty"`
}

// list lists the processes: what runs first, and of equals the newest first.
func (s *Set) list(ctx context.Context, c Call, _ *string) Result {
	var args listArgs
	if err := decode(c.Arguments, &args); err != nil {
		return refuse("%s: %s", toolList, words(err))
	}
	m, res, ok := s.manager(ctx)
	if !ok {
		return res
	}
	processes, err := m.List(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return s.canceled(ctx, "nothing was listed", nil, "")
	case errors.Is(err, procmgr.ErrRefused):
		return denied("listed", err)
	case err != nil:
		return refuse("the processes could not be listed: %s. Try once more, and tell the user if it stays so", words(err))
	}
	// Those that started in the same instant keep the manager's order, which
	// is oldest first.
	processes = slices.Clone(processes)
	slices.Reverse(processes)
	slices.SortStableFunc(processes, func(a, b procmgr.Process) int {
		return cmp.Or(cmp.Compare(rank(a.State), rank(b.State)), b.StartedAt.Compare(a.StartedAt))
	})
	l := listing{Processes: []listed{}}
	for _, p := range processes[:min(len(processes), maxListed)] {
		entry := listed{
			ProcessID:      p.ID,
			Command:        clip(p.Command, maxListedCommand),
			WorkDir:        p.WorkDir,
			State:          p.State,
			ExitCode:       p.ExitCode,
			Signal:         p.Signal,
			Background:     p.Background,
			WallDurationMS: wallDuration(p),
		}
		if !p.StartedAt.IsZero() {
			entry.StartedAt = p.StartedAt.Format(time.RFC3339)
		}
		l.Processes = append(l.Processes, entry)
	}
	l.Omitted = len(processes) - len(l.Processes)
	return Result{Content: encode(l)}
}

// rank orders states by how much they matter to a model.
func rank(s procmgr.State) int {
	switch s {
	case procmgr.Running:
		return 0
	case procmgr.Exited:
		return 2
	}
	return 1
}
