package osproc

import "github.com/toolproc/toolproc/procmgr/internal/procstat"

// A Use is a live member of a tree, and what the system tells of its work.
type Use struct {
	PID int
	procstat.Use
}
