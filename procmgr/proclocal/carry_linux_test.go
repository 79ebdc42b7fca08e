package proclocal_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A holder is the Keep of a test: it holds the descriptors, and writes a journal
// into memory.
type holder struct {
	mu      sync.Mutex // guards the fields below
	local   []byte
	entries map[uint64]*carry.Entry
	files   map[uint64][]carry.File
	leaders map[uint64]carry.Leader
	refuse  error // what Starting returns
	await   func(k carry.Key, leader carry.Leader) <-chan carry.Status
}

func newHolder(t testing.TB) *holder {
	h := &holder{entries: make(map[uint64]*carry.Entry), files: make(map[uint64][]carry.File), leaders: make(map[uint64]carry.Leader)}
	t.Cleanup(func() {
		for seq := range h.files {
			h.close(seq)
		}
	})
	return h
}

// hold keeps duplicates. The caller holds mu.
func (h *holder) hold(seq uint64, files []carry.File) {
	h.close(seq)
	for _, f := range files {
		fd, err := unix.FcntlInt(uintptr(f.FD), unix.F_DUPFD_CLOEXEC, 0)
		if err == nil {
			h.files[seq] = append(h.files[seq], carry.File{Role: f.Role, FD: fd})
		}
	}
}

func (h *holder) close(seq uint64, roles ...carry.Role) {
	h.files[seq] = slices.DeleteFunc(h.files[seq], func(f carry.File) bool {
		gone := len(roles) == 0 || slices.Contains(roles, f.Role)
		if gone {
			unix.Close(f.FD)
		}
		return gone
	})
	if len(h.files[seq]) == 0 {
		delete(h.files, seq)
	}
}

func (h *holder) Began(record []byte, files []carry.File) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.local = record
	h.hold(0, files)
	return nil
}

func (h *holder) note(k carry.Key, record []byte, started bool) {
	h.entries[k.Seq] = &carry.Entry{Key: k, Record: slices.Clone(record), Started: started}
}

func (h *holder) Starting(k carry.Key, record []byte, files []carry.File) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refuse != nil {
		return h.refuse
	}
	h.note(k, record, false)
	h.hold(k.Seq, files)
	return nil
}

func (h *holder) Started(k carry.Key, leader carry.Leader, record []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.note(k, record, true)
	h.leaders[k.Seq] = leader
}

func (h *holder) NotStarted(k carry.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.entries, k.Seq)
	h.close(k.Seq)
}

func (h *holder) Turned(k carry.Key, record []byte) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.note(k, record, true)
}

func (h *holder) Dropped(k carry.Key, roles ...carry.Role) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.close(k.Seq, roles...)
}

func (h *holder) Forgotten(k carry.Key) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.entries, k.Seq)
}

func (h *holder) Await(k carry.Key, leader carry.Leader) <-chan carry.Status {
	if h.await != nil {
		return h.await(k, leader)
	}
	lost := make(chan carry.Status)
	close(lost)
	return lost
}

// holds returns of how many processes it holds descriptors.
func (h *holder) holds() (n int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for seq := range h.files {
		if seq > 0 {
			n++
		}
	}
	return n
}

// journal returns what is known of a Local that has died.
func (h *holder) journal() *carry.Journal {
	h.mu.Lock()
	defer h.mu.Unlock()
	j := &carry.Journal{Local: h.local, Files: make(map[uint64][]carry.File)}
	for _, seq := range slices.Sorted(maps.Keys(h.entries)) {
		j.Entries = append(j.Entries, *h.entries[seq])
	}
	for seq, files := range h.files {
		for _, f := range files {
			fd, _ := unix.FcntlInt(uintptr(f.FD), unix.F_DUPFD_CLOEXEC, 0)
			j.Files[seq] = append(j.Files[seq], carry.File{Role: f.Role, FD: fd})
		}
	}
	return j
}

// newKept returns a Local with a Keep.
func newKept(t testing.TB, opts *proclocal.Options, h *holder) *proclocal.Local {
	t.Helper()
	if opts == nil {
		opts = &proclocal.Options{}
	}
	l, err := proclocal.NewKept(opts, h)
	require.NoError(t, err)
	return l
}

// upgraded saves a Local and returns the one that goes on.
func upgraded(t testing.TB, l *proclocal.Local, opts *proclocal.Options, h *holder) *proclocal.Local {
	t.Helper()
	if opts == nil {
		opts = &proclocal.Options{}
	}
	ctx, cancel := context.WithTimeout(context.Background(), long)
	defer cancel()
	state, err := l.Save(ctx)
	require.NoError(t, err)
	next, run, err := proclocal.Restore(opts, h, state)
	require.NoError(t, err)
	run()
	return next
}

// Twenty processes print numbered lines, and others exit with codes of their own,
// while their Local is saved and goes on, again and again. No byte, code, ID or
// event is lost or comes twice.
func TestUpgradeUnderLoad(t *testing.T) {
	h := newHolder(t)
	opts := &proclocal.Options{Head: 1 << 20, Tail: 1 << 20, MaxRunningPerChat: 1000}
	l := newKept(t, opts, h)
	const printers, lines, upgrades = 10, 4000, 12
	var ids []string
	codes := make(map[string]int)
	start := func(command string, code int) {
		out, err := l.Chat("c").Start(t.Context(), procmgr.StartRequest{Command: command})
		require.NoError(t, err)
		ids = append(ids, out.Process.ID)
		codes[out.Process.ID] = code
	}
	for i := range printers {
		start(fmt.Sprintf("i=0; while [ $i -lt %d ]; do echo line $i; i=$((i+1)); done; exit %d", lines, i), i)
	}
	for u := range upgrades {
		for i := range 4 {
			code := 20 + (u*4+i)%100
			start(fmt.Sprintf("sleep 0.0%d; echo bye; exit %d", i, code), code)
		}
		l = upgraded(t, l, opts, h)
	}
	seen := make(map[string][]procmgr.EventKind)
	for _, id := range ids {
		out := ended(t, l.Chat("c"), id)
		require.Equal(t, codes[id], *out.Process.ExitCode)
		require.Equal(t, procmgr.CauseExit, out.Process.EndedBy)
		out, err := l.Chat("c").Output(t.Context(), id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: -1}})
		require.NoError(t, err)
		if codes[id] >= 20 {
			require.Equal(t, "bye\n", out.Text)
			continue
		}
		var want strings.Builder
		for i := range lines {
			fmt.Fprintf(&want, "line %d\n", i)
		}
		require.Equal(t, want.String(), out.Text)
	}
	page, err := l.Events(t.Context(), procmgr.EventsRequest{Limit: -1})
	require.NoError(t, err)
	require.False(t, page.Gap)
	for _, e := range page.Events {
		seen[e.Process.ID] = append(seen[e.Process.ID], e.Kind)
	}
	for _, id := range ids {
		require.Equal(t, []procmgr.EventKind{procmgr.EventStarted, procmgr.EventExited}, seen[id])
	}
	require.NoError(t, l.Close())
	require.Equal(t, 0, h.holds(), "all descriptors were dropped")
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
