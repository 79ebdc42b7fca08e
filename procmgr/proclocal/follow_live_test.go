package proclocal_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// A prompter is a Manager of one process that prints nothing but a prompt, in
// the moment between two waits of a follower.
type prompter struct {
	procmgr.Manager
	waits   int // how many come before the prompt
	prompt  string
	printed time.Time
}

func (p *prompter) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	out := procmgr.Output{Process: procmgr.Process{ID: id, State: procmgr.Running}}
	if req.Wait > 0 && p.prompt == "" {
		if p.waits == 0 {
			p.prompt, p.printed = "Continue? [y/N] ", time.Now()
		}
		p.waits--
	}
	select {
	case <-time.After(req.Wait):
	case <-ctx.Done():
		return procmgr.Output{}, ctx.Err()
	}
	out.Text, out.Live = p.prompt, p.prompt
	return out, nil
}

// A prompt is shown soon, even if it is printed between two waits: the process
// then does nothing more until somebody answers.
func TestFollowLiveBetweenWaits(t *testing.T) {
	t.Parallel()
	for _, waits := range []int{0, 1, 5, 50} {
		synctest.Test(t, func(t *testing.T) {
			m := &prompter{waits: waits}
			for chunk, err := range procmgr.Follow(t.Context(), m, "p", nil) {
				require.NoError(t, err)
				if chunk.Live == "" {
					continue
				}
				require.Equal(t, "Continue? [y/N] ", chunk.Live)
				require.LessOrEqual(t, time.Since(m.printed), 10*time.Second)
				break
			}
		})
	}
}
