package toolset_test

import (
	"encoding/json"
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

	"github.com/toolproc/toolproc/chattool/toolset"
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

// Calls with arguments that no schema allows, by several callers at once:
// each has a result of its own, none is a panic, and nothing is left.
func TestHeldRandomArguments(t *testing.T) {
	testenv.Held(t)
	calls, callers := testenv.Rounds(4_000, 100_000), 8
	dir := t.TempDir()
	manager := newHost(t, &proclocal.Options{WorkDir: dir})
	seed := rand.Uint64()
	var wg sync.WaitGroup
	for caller := range callers {
		m := manager.Chat("chat-" + strconv.Itoa(caller))
		set := newSet(toolset.Static(m), &toolset.Options{Input: caller%2 == 0, DefaultTimeout: time.Second, MaxTimeout: time.Second})
		r := rand.New(rand.NewPCG(seed, uint64(caller)))
		wg.Go(func() {
			var known []string
			for range calls / callers {
				call := toolset.Call{Name: randomTool(r), Arguments: randomArguments(r, known)}
				res := set.Call(t.Context(), call)
				var content map[string]any
				if err := json.Unmarshal([]byte(res.Content), &content); err != nil ||
					strings.Contains(res.Content, "failed unexpectedly") || res.IsError && res.Report.Success {
					t.Errorf("seed %d: %s with %q: %q", seed, call.Name, call.Arguments, res.Content)
					return
				}
				if res.Output != nil && len(known) < 20 {
					known = append(known, res.Output.Process.ID)
				}
			}
			page, err := m.List(t.Context(), procmgr.ListRequest{})
			all := page.Processes
			for _, p := range all {
				if p.State == procmgr.Exited {
					continue
				}
				if err := m.Signal(t.Context(), p.ID, procmgr.Kill); err != nil {
					t.Errorf("seed %d: %+v: %v", seed, p, err)
				}
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func randomTool(r *rand.Rand) string {
	tools := []string{"execute", "process_output", "process_list", "process_signal", "process_input", "other", ""}
	return tools[r.IntN(len(tools))]
}

func randomArguments(r *rand.Rand, ids []string) []byte {
	names := []string{
		"command", "timeout", "workdir", "run_in_background", "max_output", "notify_on", "stdin", "process_id",
		"wait_timeout", "wait_for", "wait_for_port", "since", "signal", "limit", "offset", "state", "input", "keys", "screen", "Command", "x", "",
	}
	object := map[string]any{}
	for range r.IntN(5) {
		object[names[r.IntN(len(names))]] = randomValue(r, ids, 2)
	}
	if r.IntN(20) > 0 { // a command that costs little, or no fork at all
		object["command"] = []any{"", ":", " ", nil, 7, "\x00"}[r.IntN(6)]
	}
	data, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	switch r.IntN(12) {
	case 0:
		data = data[:r.IntN(len(data)+1)]
	case 1:
		data[r.IntN(len(data))] ^= byte(1 << r.IntN(8))
	case 2:
		data, _ = json.Marshal(string(data))
	}
	return data
}

func randomValue(r *rand.Rand, ids []string, depth int) any {
	switch r.IntN(12) {
	case 0:
		return nil
	case 1:
		return r.IntN(2) == 0
	case 2:
		return r.Int64() - r.Int64()
	case 3:
		return r.NormFloat64() * 1e9
	case 4:
		return r.IntN(3)
	case 5:
		return strconv.Itoa(r.IntN(100)) + []string{"s", "m", " sec", "", "ms", "h"}[r.IntN(6)]
	case 6:
		return []string{"TERM", "SIGKILL", "int", "0", "9", "x"}[r.IntN(6)]
	case 7:
		return []string{"(", "a|b", ".*", "\n", "/x/i", "(?=x)", "."}[r.IntN(7)]
	case 8, 9:
		if len(ids) > 0 {
			return ids[r.IntN(len(ids))]
		}
	case 10:
		if depth > 0 {
			return []any{randomValue(r, ids, depth-1), randomValue(r, ids, depth-1)}
		}
	}
	return strings.Repeat("x\u2028\t", r.IntN(10))
}
