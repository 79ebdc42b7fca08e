package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// A list of processes, as a model reads it.
type listed struct {
	Processes []struct {
		ProcessID string        `json:"process_id"`
		State     procmgr.State `json:"state"`
		Command   string        `json:"command"`
	} `json:"processes"`
	Omitted    int    `json:"omitted"`
	NextOffset int    `json:"next_offset"`
	Note       string `json:"note"`
}

func (l listed) ids() (ids []string) {
	for _, p := range l.Processes {
		ids = append(ids, p.ProcessID)
	}
	return ids
}

// history is the processes that a test makes, one second after the other.
type history []procmgr.Process

func (h *history) add(n int, state procmgr.State, background bool) *history {
	for range n {
		p := running(fmt.Sprintf("%c%d", state[0], len(*h)), "").Process
		p.Command = "make " + strings.Repeat("x", 300)
		p.State, p.Background = state, background
		p.StartedAt = began.Add(time.Duration(len(*h)) * time.Second)
		*h = append(*h, p)
	}
	return h
}

// list asks for a page; offset is "" for none.
func (h *history) list(t *testing.T, opts *toolset.Options, offset string) (l listed, size int) {
	t.Helper()
	m := &fake{list: func(context.Context) ([]procmgr.Process, error) { return *h, nil }}
	arguments := "{}"
	if offset != "" {
		arguments = `{"offset":` + offset + `}`
	}
	res, _ := call(t, m, opts, "process_list", arguments)
	require.False(t, res.IsError, res.Content)
	require.NoError(t, json.Unmarshal([]byte(res.Content), &l))
	return l, len(res.Content)
}

// A list begins with what lives, and has 20 processes at most. Each other one is on one of
// the pages after it.
func TestListPages(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		history *history
		first   []string // ids that the first page begins with
	}{
		{"30 run, one has ended", new(history).add(1, procmgr.Exited, false).add(30, procmgr.Running, true), []string{"r30", "r29"}},
		{"what is detached lives", new(history).add(25, procmgr.Detached, false).add(30, procmgr.Exited, false), []string{"d24"}},
		{"a state that is unknown", new(history).add(1, "?", false).add(30, procmgr.Exited, false), []string{"?0"}},
		{"what runs, what is detached, what has ended", new(history).add(1, procmgr.Exited, false).add(1, procmgr.Running, false).add(1, procmgr.Detached, false).add(2, procmgr.Running, false), []string{"r4", "r3", "r1", "d2", "e0"}},
		{"background jobs behind what lives", new(history).add(2, procmgr.Exited, true).add(21, procmgr.Exited, false).add(1, procmgr.Running, false), []string{"r23", "e1", "e0", "e22"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.name == "a state that is unknown" {
				(*tt.history)[0].State = ""
			}
			page, _ := tt.history.list(t, nil, "")
			require.Len(t, page.Processes, min(len(*tt.history), 20))
			require.Equal(t, tt.first, page.ids()[:len(tt.first)])
			all := page.ids()
			for page.Omitted > 0 {
				require.Equal(t, len(*tt.history)-len(all), page.Omitted)
				require.Equal(t, len(all), page.NextOffset)
				page, _ = tt.history.list(t, nil, fmt.Sprint(page.NextOffset))
				require.NotEmpty(t, page.Processes)
				all = append(all, page.ids()...)
			}
			require.Zero(t, page.NextOffset)
			var want []string
			for _, p := range *tt.history {
				want = append(want, p.ID)
			}
			require.ElementsMatch(t, want, all)
		})
	}
}

func TestListOffset(t *testing.T) {
	t.Parallel()
	h := new(history).add(45, procmgr.Exited, false)
	page, _ := h.list(t, nil, `"40"`)
	require.Equal(t, []string{"e4", "e3", "e2", "e1", "e0"}, page.ids())
	page, _ = h.list(t, nil, "45")
	require.Empty(t, page.Processes)
	require.Equal(t, "There are only 45 processes.", page.Note)
	page, _ = h.list(t, nil, "9007199254740993")
	require.Empty(t, page.Processes)

	m := &fake{list: func(context.Context) ([]procmgr.Process, error) { return nil, xerrors.New("no route") }}
	res, got := call(t, m, nil, "process_list", `{}`)
	require.True(t, res.IsError)
	require.Contains(t, got["error"], "the processes could not be listed: no route")
}

// A list keeps to the limit of a result, whatever the processes are.
func TestListIsBounded(t *testing.T) {
	t.Parallel()
	h := new(history).add(200, procmgr.Running, true)
	for i := range *h {
		p := &(*h)[i]
		p.ID, p.Command = strings.Repeat("i", 64), strings.Repeat("\x00", 1000)
		p.WorkDir, p.Waiting = "/"+strings.Repeat("d", 1000), &procmgr.Waiting{}
	}
	for _, limit := range []int{1 << 10, 4 << 10, headtail.DefaultTextLimit} {
		page, size := h.list(t, &toolset.Options{Limit: headtail.Limits{Bytes: limit}}, "")
		require.LessOrEqual(t, size, limit)
		require.NotEmpty(t, page.Processes)
		require.NotEmpty(t, page.Processes[0].Command)
	}
}
