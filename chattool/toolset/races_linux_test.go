package toolset_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Streams that are read by offset while they are printed: nothing is lost or
// doubled, whatever the sizes of the writes and the moments of the reads.
func TestHeldStreamsByOffset(t *testing.T) {
	testenv.Held(t)
	streams, callers := testenv.Rounds(40, 240), 8
	manager := newHost(t, &proclocal.Options{LogDir: filepath.Join(t.TempDir(), "logs")})
	seed := rand.Uint64()
	var wg sync.WaitGroup
	for caller := range callers {
		m := manager.Chat("chat-" + strconv.Itoa(caller))
		wg.Go(func() {
			for i := caller; i < streams && !t.Failed(); i += callers {
				oneStream(t, m, rand.New(rand.NewPCG(seed, uint64(i))), fmt.Sprintf("seed %d, stream %d", seed, i))
			}
		})
	}
	wg.Wait()
}

func oneStream(t *testing.T, m procmgr.Manager, r *rand.Rand, which string) {
	lines := 1 + r.IntN(20_000)
	every := 1 + r.IntN(lines)
	command := fmt.Sprintf(`i=1; while [ $i -le %d ]; do seq $i $((i+%d < %d ? i+%d : %d)); i=$((i+%d+1)); sleep 0.0%d; done`,
		lines, every, lines, every, lines, every, 1+r.IntN(4))
	var want strings.Builder
	for i := range lines {
		fmt.Fprintln(&want, i+1)
	}
	out, err := m.Start(t.Context(), procmgr.StartRequest{Command: command})
	var got strings.Builder
	next := int64(0)
	for err == nil {
		var page procmgr.Output
		page, err = m.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{
			From: next, Wait: time.Duration(r.IntN(50)) * time.Millisecond, Until: []string{"", "."}[r.IntN(2)],
			Limit: headtail.Limits{Bytes: -1, Line: -1},
		})
		if page.Truncated != nil {
			t.Errorf("%s: %d bytes from %d on are missing", which, page.Truncated.OmittedBytes, next)
			return
		}
		got.WriteString(strings.TrimSuffix(page.Text, page.Live))
		next = page.Next
		if page.Process.State == procmgr.Exited && page.Text == "" {
			break
		}
	}
	if err != nil || got.String() != want.String() {
		t.Errorf("%s: %d lines were printed, error %v, and read were %s", which, lines, err, excerpt(got.String()))
	}
}

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
