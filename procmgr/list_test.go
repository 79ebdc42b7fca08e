package procmgr_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// someProcesses are in the order of their starts. The name of each says what it is.
func someProcesses() []procmgr.Process {
	var all []procmgr.Process
	for i, p := range []procmgr.Process{
		{ID: "exited 1", State: procmgr.Exited},
		{ID: "background 1", State: procmgr.Exited, Background: true},
		{ID: "running 1", State: procmgr.Running, Background: true},
		{ID: "detached 1", State: procmgr.Detached},
		{ID: "exited 2", State: procmgr.Exited},
		{ID: "running 2", State: procmgr.Running},
		{ID: "background 2", State: procmgr.Exited, Background: true},
		{ID: "detached 2", State: procmgr.Detached, Background: true},
	} {
		p.StartedAt = time.Unix(int64(i), 0)
		all = append(all, p)
	}
	return all
}

func TestPageOf(t *testing.T) {
	want := []string{
		"running 2", "running 1", "detached 2", "detached 1",
		"background 2", "background 1", "exited 2", "exited 1",
	}
	for _, tt := range []struct {
		name        string
		req         procmgr.ListRequest
		want        []string
		total, live int
	}{
		{"the zero request", procmgr.ListRequest{}, want, 8, 4},
		{"a limit", procmgr.ListRequest{Limit: 3}, want[:3], 8, 4},
		{"a limit beyond the end", procmgr.ListRequest{Limit: 9}, want, 8, 4},
		{"a negative limit", procmgr.ListRequest{Limit: -1}, want, 8, 4},
		{"an offset", procmgr.ListRequest{Offset: 5}, want[5:], 8, 4},
		{"an offset at the end", procmgr.ListRequest{Offset: 8}, nil, 8, 4},
		{"an offset beyond the end", procmgr.ListRequest{Offset: 9, Limit: 1}, nil, 8, 4},
		{"the largest numbers", procmgr.ListRequest{Offset: math.MaxInt, Limit: math.MaxInt}, nil, 8, 4},
		{"a page in the middle", procmgr.ListRequest{Offset: 3, Limit: 2}, want[3:5], 8, 4},
		{"the last page", procmgr.ListRequest{Offset: 6, Limit: 5}, want[6:], 8, 4},
		{"running", procmgr.ListRequest{State: procmgr.Running}, want[:2], 2, 2},
		{"detached", procmgr.ListRequest{State: procmgr.Detached, Limit: 1}, want[2:3], 2, 2},
		{"exited", procmgr.ListRequest{State: procmgr.Exited, Offset: 1, Limit: 2}, want[5:7], 4, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := someProcesses()
			page, err := procmgr.PageOf(all, tt.req)
			require.NoError(t, err)
			var got []string
			for i := range page.Processes {
				got = append(got, page.Processes[i].ID)
				page.Processes[i] = procmgr.Process{} // it is the caller's
			}
			require.Equal(t, tt.want, got)
			require.Equal(t, tt.total, page.Total)
			require.Equal(t, tt.live, page.Live)
			require.Equal(t, someProcesses(), all)
		})
	}
	page, err := procmgr.PageOf(nil, procmgr.ListRequest{})
	require.NoError(t, err)
	require.Zero(t, page)
}
