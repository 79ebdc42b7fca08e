package procnats

import (
	"context"
	"runtime"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// A Load says how busy a machine is. The statistics of its micro service have
// it, as the data of the endpoint "calls".
type Load struct {
	// Calls is how many calls the machine serves, including waiting ones.
	Calls int `json:"calls"`
	// Running is how many processes have not exited; -1 without Options.Host.
	Running int `json:"running"`
	// CPUs is the number of processors.
	CPUs int `json:"cpus"`
}

// loadTime is how long the Host may take to count its processes.
const loadTime = time.Second

func (s *Service) load() Load {
	s.mu.Lock()
	l := Load{Calls: s.count, Running: -1, CPUs: runtime.NumCPU()}
	s.mu.Unlock()
	if s.opts.Host != nil {
		ctx, cancel := context.WithTimeout(s.ctx, loadTime)
		defer cancel()
		if page, err := s.opts.Host.List(ctx, procmgr.ListRequest{Limit: 1}); err == nil {
			l.Running = page.Live
		}
	}
	return l
}
