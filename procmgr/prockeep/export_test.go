//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"encoding/binary"
	"io"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/prockeep/internal/holder"
)

// These are constants of the package.
const (
	MaxDirectory = maxDirectory
	MaxLog       = maxLog
)

// OpenLog opens the log of a keeper.
func OpenLog(t *testing.T, path string) io.Writer {
	t.Helper()
	f, err := openLog(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.Close()) })
	return newKeeperLog(path, f, int(f.Fd()))
}

// MayHaveRun reports whether a child of a dead keeper may have run something, if the
// journal tells of one leader, and if the holder has killed some before they began.
func MayHaveRun(pid int, ended bool, told carry.Leader, trapped ...int) bool {
	p := past{told: map[carry.Leader]bool{told: told.PID != 0}}
	p.inherit(&holder.Heritage{Generation: 1, Strays: []holder.Stray{{PID: pid, Ended: ended}}, Trapped: trapped})
	return len(p.Strays) > 0
}

// Lives is lives.
func Lives(pid int) bool { return lives([]int{pid}) }

// CanFollow is canFollow for a program without options.
func CanFollow(text string) error { return canFollow(text, passed{}) }

// RecordOfVersion1 makes of a record in the journal what a program of version 1 would
// have written.
func RecordOfVersion1(t *testing.T, record []byte) []byte {
	t.Helper()
	leader, text, ok := readRecord(record)
	require.True(t, ok)
	return append(binary.AppendUvarint(nil, uint64(leader.PID)), withoutStart(text)...)
}

// withoutStart takes out of JSON when leaders began.
func withoutStart(text []byte) []byte {
	return regexp.MustCompile(`"start":[0-9]+,?`).ReplaceAll(text, nil)
}

// LowerDeaths sets how many keepers of a holder may die one after the other. TestMain
// calls it before Main.
func LowerDeaths(n int) { maxDeaths = n }
