package procmgr

import "context"

// listOf returns snapshots of the processes that have started, in the order of
// their starts.
func listOf(ctx context.Context, all []*record) ([]Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, wrap("list", "", err)
	}
	inOrder(all)
	processes := make([]Process, 0, len(all))
	for _, r := range all {
		select {
		case <-r.ready:
			if r.failed == nil {
				processes = append(processes, r.snapshot())
			}
		default: // the start is still under way
		}
	}
	return processes, nil
}
