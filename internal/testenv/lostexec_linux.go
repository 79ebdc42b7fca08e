package testenv

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A LostExec stands in for kubectl exec, or docker exec: if it loses its
// connection, it answers 0, and the far side keeps its stdin and stdout and is
// told nothing.
type LostExec struct {
	Command []string // runs the far side
	t       testing.TB
	dir     string
}

// NewLostExec returns a LostExec that runs the command far as its far side. Far sides
// still running at the end of the test are killed.
func NewLostExec(t testing.TB, far ...string) *LostExec {
	t.Helper()
	dir := t.TempDir()
	for i, word := range far {
		far[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	script := filepath.Join(dir, "exec")
	err := os.WriteFile(script, []byte(`#!/bin/sh
# The connection is what this script's children carry. It is lost when there is a file.
in=`+dir+`/in.$$ out=`+dir+`/out.$$
mkfifo $in $out
echo $$ >> `+dir+`/near
# The far side holds both ends of both pipes, so none of them ever ends.
setsid `+strings.Join(far, " ")+` <>$in 1<>$out &
echo $! >> `+dir+`/far
cat <&3 >$in 3<&- & up=$!
cat <$out & down=$!
while [ ! -e `+dir+`/lost.$$ ] && kill -0 $up 2>/dev/null; do sleep 0.05; done
kill $up $down
exit 0
`), 0o700)
	if err != nil {
		t.Fatal(err)
	}
	l := &LostExec{Command: []string{"sh", "-c", "exec 3<&0; exec " + script}, t: t, dir: dir}
	t.Cleanup(func() {
		for _, pid := range l.pids("far") {
			if lives(pid) {
				_ = syscall.Kill(pid, syscall.SIGKILL)
			}
		}
	})
	return l
}

// Lose loses all connections that there are.
func (l *LostExec) Lose() {
	l.t.Helper()
	for _, pid := range l.pids("near") {
		if err := os.WriteFile(filepath.Join(l.dir, "lost."+strconv.Itoa(pid)), nil, 0o600); err != nil {
			l.t.Fatal(err)
		}
	}
}

// Lost waits until the far sides of all lost connections have ended.
func (l *LostExec) Lost() {
	l.t.Helper()
	far := l.pids("far")
	for i, near := range l.pids("near") {
		if _, err := os.Stat(filepath.Join(l.dir, "lost."+strconv.Itoa(near))); err != nil {
			continue
		}
		for over := time.Now().Add(time.Minute); lives(far[i]); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(over) {
				l.t.Fatalf("the far side %d has to end by itself", far[i])
			}
		}
	}
}

func (l *LostExec) pids(name string) (all []int) {
	text, _ := os.ReadFile(filepath.Join(l.dir, name))
	for _, word := range strings.Fields(string(text)) {
		if pid, err := strconv.Atoi(word); err == nil {
			all = append(all, pid)
		}
	}
	return all
}

// lives reports whether a process lives; a zombie does not.
func lives(pid int) bool {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(rest, "Z") && !strings.HasPrefix(rest, "X")
}
