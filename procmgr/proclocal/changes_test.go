package proclocal_test

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// counting prints n lines, and others in the place of some.
func counting(n int, others string) string {
	return fmt.Sprintf(`awk 'BEGIN { for (i = 1; i <= %d; i++) { s = "line " i; %s; print s } }'`, n, others)
}

func changesOf(t testing.TB, m procmgr.Manager, before, after string) *procmgr.Changes {
	t.Helper()
	out := output(t, m, after, procmgr.OutputRequest{Against: before})
	return out.Changes
}

func TestChangesInTheLog(t *testing.T) {
	t.Parallel()
	needs(t, "awk")
	m := newLocal(t, &proclocal.Options{LogDir: t.TempDir()}).Chat("a")
	first := run(t, m, counting(20_000, "")).Process
	second := run(t, m, counting(20_000, `if (i == 10000) s = "another"`)).Process
	// The windows have the same.
	require.Equal(t, &procmgr.Changes{Added: 1, Removed: 1, Lines: 20_000,
		Text: "@@ -9998,5 +9998,5 @@\n line 9998\n line 9999\n-line 10000\n+another\n line 10001\n line 10002\n"}, changesOf(t, m, first.ID, second.ID))
	require.Equal(t, &procmgr.Changes{Same: true, Lines: 20_000}, changesOf(t, m, first.ID, first.ID))

	// A log that somebody has changed is no evidence, even if it has as many bytes.
	log, err := os.ReadFile(first.LogPath)
	require.NoError(t, err)
	log = []byte(strings.Replace(string(log), "line 10000\n", "linf 10000\n", 1))
	require.NoError(t, os.WriteFile(first.LogPath, log, 0o600))
	require.Nil(t, changesOf(t, m, first.ID, second.ID))
	require.Nil(t, changesOf(t, m, second.ID, first.ID))
	require.NoError(t, os.Truncate(first.LogPath, 5))
	require.Nil(t, changesOf(t, m, first.ID, second.ID))
}

func TestChangesOfWhatIsNotWhole(t *testing.T) {
	t.Parallel()
	needs(t, "awk")
	windows := newLocal(t, &proclocal.Options{Head: 1000, Tail: 1000}).Chat("a")
	little, much := run(t, windows, counting(100, "")).Process.ID, run(t, windows, counting(1000, "")).Process.ID
	require.NotNil(t, changesOf(t, windows, little, little))
	require.Nil(t, changesOf(t, windows, little, much))
	require.Nil(t, changesOf(t, windows, much, little))
	require.Nil(t, changesOf(t, windows, much, much))

	ends := newLocal(t, &proclocal.Options{LogDir: t.TempDir(), MaxLog: 40_000}).Chat("a")
	much = run(t, ends, counting(20_000, "")).Process.ID
	require.Nil(t, changesOf(t, ends, much, much), "the log ends early")
}

// An output of over 8 MiB is not compared, however equal the other one is, nor one of
// which over 1 MiB lies between the first and the last difference.
func TestChangesOfTooMuch(t *testing.T) { // alone, since it counts what is allocated
	needs(t, "a head that prints 9 MB")
	m := newLocal(t, &proclocal.Options{LogDir: t.TempDir()})
	zeros := func(n int, end string) string {
		return run(t, m, fmt.Sprintf("head -c %d /dev/zero | tr '\\0' a | fold; echo; echo %s", n, end)).Process.ID
	}
	much := zeros(8<<20, "x")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	require.Nil(t, changesOf(t, m, much, much))
	runtime.ReadMemStats(&after)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4<<20), "its log was not read")

	first, second := zeros(7<<20, "x"), zeros(7<<20, "y")
	c := changesOf(t, m, first, second)
	require.NotNil(t, c)
	require.Equal(t, []int{1, 1}, []int{c.Added, c.Removed})
	require.Nil(t, changesOf(t, m, run(t, m, counting(20_001, "s = s \" a\"")).Process.ID, run(t, m, counting(20_001, "s = s \" b\"")).Process.ID))
}
