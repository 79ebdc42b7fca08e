package toolset_test

import (
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// IDs that are each asked for by 8 callers at once: each command runs once.
func TestHeldRacingIDs(t *testing.T) {
	testenv.Held(t)
	ids, callers := testenv.Rounds(60, 300), 8
	dir := t.TempDir()
	manager := newHost(t, &proclocal.Options{WorkDir: dir})
	m := manager.Chat("chat")
	for id := range ids {
		name := "id-" + strconv.Itoa(id)
		begin := make(chan struct{})
		first := make(chan bool, callers)
		var wg sync.WaitGroup
		for range callers {
			wg.Go(func() {
				<-begin
				out, err := m.Start(t.Context(), procmgr.StartRequest{ID: name, Command: "echo run >>" + name + "; cat " + name, Wait: time.Minute})
				if err != nil || out.Process.ExitCode == nil || out.Text != "run\n" {
					t.Errorf("%s: %v, %+v, output %q", name, err, out.Process, out.Text)
				}
				first <- !out.Attached
			})
		}
		close(begin)
		wg.Wait()
		close(first)
		count := 0
		for mine := range first {
			if mine {
				count++
			}
		}
		ran, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		require.Equal(t, "run\n", string(ran), name)
		require.Equal(t, 1, count, "callers that were told that they have started %s", name)
	}
}
