//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"io"
	"os"
	"path/filepath"
	"strings"
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

// PlayOtherVersion makes this program one whose states have another version.
func PlayOtherVersion() { stateVersion++ }

// HoldAStart makes this program a keeper whose next start stands still after its fork.
// A file in the directory says what it does there: "write" is to write the start down,
// "go" is to go on, and "blind" is to take from the holder how far the start has come.
// The file is renamed when the start is there.
func HoldAStart(dir string) {
	atStarted = func(k *keep, write func()) {
		path := filepath.Join(dir, "start")
		do, err := os.ReadFile(path)
		if err == nil {
			err = os.Rename(path, path+".forked")
		}
		if err != nil || strings.Contains(string(do), "write") {
			write()
		}
		if strings.Contains(string(do), "blind") {
			k.Dropped(carry.Key{}, carry.Tally)
			k.share() // so that the holder hears of it now
		}
		if err == nil && !strings.Contains(string(do), "go") {
			select {} // until it is killed
		}
	}
}

// LowerDeaths sets how many keepers of a holder may die one after the other. TestMain
// calls it before Main.
func LowerDeaths(n int) { maxDeaths = n }
