package proclocal_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A process that forks, ignores SIGTERM and moves from session to session does
// not escape Kill.
func TestKillForkStorm(t *testing.T) {
	t.Parallel()
	testenv.Programs(t, "python3")
	// Each script ends by itself once DIR has gone.
	for name, script := range map[string]string{
		"ignores all but kill": `trap '' TERM INT HUP QUIT; while [ -e $DIR ]; do sleep 1000 & sh -c 'trap "" TERM; sleep 1000 & wait' & sleep 0.01; done`,
		"hops":                 `sleep 0.02; [ -e $DIR ] || exit; setsid sh $DIR/script & exit`,
		"a storm of forks":     `for i in $(seq 500); do [ -e $DIR ] || exit; sh -c 'sleep 0.05; exec sleep 1000' & sleep 0.005; done`,
		"hops and forks":       `trap '' TERM; sleep 1000 & sleep 0.02; [ -e $DIR ] || exit; setsid sh $DIR/script >/dev/null 2>&1 & exit`,
		"a chain": `exec env -i python3 -c '
import os, sys
for i in range(20000):
    if not os.path.exists(sys.argv[1]): break
    if i == 20: open(sys.argv[1] + "/begun", "w")
    if os.fork(): os._exit(0)
    os.setsid()
' $DIR >/dev/null 2>&1`,
	} {
		t.Run(name, func(t *testing.T) {
			l := newLocal(t, nil)
			dir := t.TempDir() // all of it has that in its environment or arguments
			t.Cleanup(func() { killMarked(dir) })
			require.NoError(t, os.WriteFile(filepath.Join(dir, "script"), []byte(script), 0o600))
			begun := "sleep 0.1"
			if name == "a chain" {
				begun = "until [ -e $DIR/begun ]; do sleep 0.01; done"
			}
			out := start(t, l, procmgr.StartRequest{
				Command: "sh $DIR/script & sh $DIR/script & " + begun + "; echo ready; while :; do sleep 1; done",
				Env:     map[string]string{"DIR": dir},
			})
			out = ready(t, l, out.Process.ID, "ready")
			require.NoError(t, l.Signal(t.Context(), out.Process.ID, procmgr.Kill))
			require.Equal(t, procmgr.Exited, ended(t, l, out.Process.ID).Process.State)
			require.Empty(t, marked(dir))
		})
	}
}

// A process that has left its session is reached although it becomes another
// program all the time, and has no environment for a moment of each exec.
func TestSignalInTheMidstOfAnExec(t *testing.T) {
	l := newLocal(t, nil)
	dir := t.TempDir()
	t.Cleanup(func() { killMarked(dir) })
	// The script ends by itself: at once if the test is killed, and after so many
	// turns in any case.
	script := "#!/bin/sh\n: >$DIR/began && kill -0 $HOST && [ $1 -gt 0 ] && exec $0 $(($1 - 1))\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "script"), []byte(script), 0o700))
	for i := range 30 {
		id := fmt.Sprint(i)
		start(t, l, procmgr.StartRequest{
			ID:      id,
			Command: "rm -f $DIR/began; setsid $DIR/script 100000 >/dev/null 2>&1 & while [ ! -e $DIR/began ]; do sleep 0.01; done; echo ready; wait",
			Env:     map[string]string{"DIR": dir, "HOST": strconv.Itoa(os.Getpid())},
		})
		ready(t, l, id, "ready")
		require.NoError(t, l.Signal(t.Context(), id, procmgr.Terminate))
		ended(t, l, id)
		require.Empty(t, marked(dir))
	}
}

// A member that has changed its mark and its slice, wiped its environment and left its
// session cannot be found without a cgroup. If it holds the pipe, it is known to exist,
// and Kill and Close say so.
func TestHeldKillIsHonest(t *testing.T) {
	testenv.Held(t)
	t.Parallel() // it takes all the time that Kill may take
	testenv.Programs(t, "prlimit", "chrt")
	l, err := proclocal.New(nil)
	require.NoError(t, err)
	hide := func() (id, pid string) {
		file := filepath.Join(t.TempDir(), "pid")
		out := run(t, l, "prlimit --locks=0:0 chrt -i 0 setsid env -i sh -c 'echo $$ >"+file+"; exec sleep 1000' & while [ ! -s "+file+" ]; do sleep 0.01; done; exit 3")
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		pid = strings.TrimSpace(string(text))
		t.Cleanup(func() {
			if alive(pid) {
				killPID(t, pid)
			}
		})
		require.Equal(t, procmgr.Detached, out.Process.State)
		return out.Process.ID, pid
	}
	id, pid := hide()
	err = l.Signal(t.Context(), id, procmgr.Kill)
	require.ErrorContains(t, err, "not all of it is gone")
	require.ErrorContains(t, err, "still holds its output")
	require.True(t, alive(pid))
	require.Equal(t, procmgr.Detached, output(t, l, id, procmgr.OutputRequest{}).Process.State)
	killPID(t, pid)
	require.Equal(t, 3, *ended(t, l, id).Process.ExitCode)

	id, pid = hide()
	require.ErrorContains(t, l.Close(), "process "+id+": something that cannot be found still holds its output")
	require.True(t, alive(pid))
}
