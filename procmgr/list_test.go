package procmgr_test

import (
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// The case list/order and states of proctest asserts the rest.
func TestPageOf(t *testing.T) {
	all := []procmgr.Process{ // in the order of their starts
		{ID: "exited 1", State: procmgr.Exited},
		{ID: "background 1", State: procmgr.Exited, Background: true},
		{ID: "running 1", State: procmgr.Running, Background: true},
		{ID: "detached 1", State: procmgr.Detached},
		{ID: "exited 2", State: procmgr.Exited},
		{ID: "running 2", State: procmgr.Running},
		{ID: "background 2", State: procmgr.Exited, Background: true},
		{ID: "detached 2", State: procmgr.Detached, Background: true},
	}
	before := slices.Clone(all)
	want := []string{
		"running 2", "running 1", "detached 2", "detached 1",
		"background 2", "background 1", "exited 2", "exited 1",
	}
	for _, tt := range []struct {
		req         procmgr.ListRequest
		want        []string
		total, live int
	}{
		{procmgr.ListRequest{}, want, 8, 4},
		{procmgr.ListRequest{Limit: -1}, want, 8, 4},
		{procmgr.ListRequest{Offset: math.MaxInt, Limit: math.MaxInt}, nil, 8, 4},
		{procmgr.ListRequest{Offset: 3, Limit: 2}, want[3:5], 8, 4},
		{procmgr.ListRequest{State: procmgr.Detached, Limit: 1}, want[2:3], 2, 2},
		{procmgr.ListRequest{State: procmgr.Exited, Offset: 1, Limit: 2}, want[5:7], 4, 0},
	} {
		page, err := procmgr.PageOf(all, tt.req)
		require.NoError(t, err)
		var got []string
		for i := range page.Processes {
			got = append(got, page.Processes[i].ID)
			page.Processes[i] = procmgr.Process{} // it is the caller's
		}
		require.Equal(t, tt.want, got, "%+v", tt.req)
		require.Equal(t, [2]int{tt.total, tt.live}, [2]int{page.Total, page.Live}, "%+v", tt.req)
	}
	require.Equal(t, before, all)
}
