package toolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A late manager starts nothing before a follower has been told that there is no such
// process.
type late struct {
	procmgr.Manager
	asked chan struct{}
	once  sync.Once
}

func (m *late) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	<-m.asked
	return m.Manager.Start(ctx, req)
}

func (m *late) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	out, err := m.Manager.Output(ctx, id, req)
	if errors.Is(err, procmgr.ErrNotFound) {
		m.once.Do(func() { close(m.asked) })
	}
	return out, err
}

// A user interface that follows an ID of its own shows all output, however late the
// start, and ends with its ctx if the start is refused.
func TestFollowBeforeTheStart(t *testing.T) {
	host := newHost(t, &proclocal.Options{})
	for name, tt := range map[string]struct {
		arguments string
		text      string
		err       error
	}{
		"started": {`{"command":"echo first; echo second"}`, "first\nsecond\n", nil},
		"refused": {`{"command":"echo first","workdir":"/no/such/directory"}`, "", context.Canceled},
	} {
		t.Run(name, func(t *testing.T) {
			m := &late{Manager: host.Chat("a"), asked: make(chan struct{})}
			var text string
			var failed error
			var following sync.WaitGroup
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			set := newSet(toolset.Static(m), &toolset.Options{ProcessID: func(_ context.Context, c toolset.Call) string {
				id := c.ID
				following.Go(func() {
					for chunk, err := range procmgr.Follow(ctx, m, id, &procmgr.FollowOptions{Await: true}) {
						text, failed = text+chunk.Text, err
					}
				})
				return id
			}})
			set.Call(t.Context(), toolset.Call{ID: name, Name: "execute", Arguments: json.RawMessage(tt.arguments)})
			if tt.err != nil {
				cancel()
			}
			following.Wait()
			require.Equal(t, tt.text, text)
			require.ErrorIs(t, failed, tt.err)
		})
	}
}
