package prockeep_test

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// Only what cannot be written to and was not written to is taken out of a process.
func TestUnwritten(t *testing.T) {
	const rest = "Size: 4 kB\nKernelPageSize: 4 kB\nRss: 4 kB\nPrivate_Dirty: 4 kB\nAnonymous: ANON kB\nSwap: 0 kB\nVmFlags: rd mr mw me\n"
	for name, tt := range map[string]struct {
		head, anon string
		want       int
	}{
		"text":            {"00400000-00401000 r-xp 00000000 fe:00 1   /bin/a program", "0", 1},
		"constants":       {"00400000-00401000 r--p 00000000 fe:00 1   /bin/a program", "0", 1},
		"relocated":       {"00400000-00401000 r--p 00000000 fe:00 1   /bin/a program", "4", 0},
		"data":            {"00400000-00401000 rw-p 00000000 fe:00 1   /bin/a program", "0", 0},
		"shared":          {"00400000-00401000 r--s 00000000 fe:00 1   /bin/a program", "0", 0},
		"another program": {"00400000-00401000 r-xp 00000000 fe:00 1   /usr/bin/a program.old", "0", 0},
		"a library":       {"00400000-00401000 r-xp 00000000 fe:00 1   /lib/libc.so.6", "0", 0},
		"no file":         {"00400000-00401000 r-xp 00000000 00:00 0 ", "0", 0},
		"no size":         {"00401000-00400000 r-xp 00000000 fe:00 1   /bin/a program", "0", 0},
	} {
		t.Run(name, func(t *testing.T) {
			text := tt.head + "\n" + strings.ReplaceAll(rest, "ANON", tt.anon)
			require.Len(t, prockeep.Unwritten([]byte(text+text), "/bin/a program"), 2*tt.want)
		})
	}
	own, err := os.Executable()
	require.NoError(t, err)
	text, err := os.ReadFile("/proc/self/smaps")
	require.NoError(t, err)
	require.NotEmpty(t, prockeep.Unwritten(text, own), "this system tells otherwise")
}

// A program that has no page of itself in memory any more goes on, and gets those
// that it needs.
func TestForgetStartup(t *testing.T) {
	k := open(t, newDir(t), nil)
	pid := keeperPID(t, k)
	before := residentText(t, os.Getpid())
	prockeep.ForgetStartup()
	require.Less(t, residentText(t, os.Getpid()), before)
	require.Positive(t, residentText(t, pid))
	require.Equal(t, "hello\n", run(t, k, "echo hello").Text)
}

// residentText returns how many KiB of a program's text are in its memory.
func residentText(t *testing.T, pid int) (kib int) {
	t.Helper()
	proc := "/proc/" + strconv.Itoa(pid)
	own, err := os.Readlink(proc + "/exe")
	require.NoError(t, err)
	text, err := os.ReadFile(proc + "/smaps")
	require.NoError(t, err)
	in := false
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); strings.Contains(fields[0], "-") {
			in = fields[1] == "r-xp" && strings.HasSuffix(strings.TrimSpace(line), own)
		} else if in && fields[0] == "Rss:" {
			n, err := strconv.Atoi(fields[1])
			require.NoError(t, err)
			kib += n
		}
	}
	return kib
}
