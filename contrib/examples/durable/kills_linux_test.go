package main_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A program is one that is killed and started again until it has ended by itself.
type program struct {
	args []string
	mu   sync.Mutex // guards cmd
	cmd  *exec.Cmd
	out  bytes.Buffer // what it has printed since it was last started
	log  bytes.Buffer // what it has logged
	done chan error   // its last end
}

func (p *program) start(t *testing.T) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.out.Reset()
	p.cmd, p.done = exec.Command(p.args[0], p.args[1:]...), make(chan error, 1)
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.log
	p.cmd.WaitDelay = time.Second // a command may hold them
	require.NoError(t, p.cmd.Start())
	go func() { p.done <- p.cmd.Wait() }() // kill or the test takes it
}

func (p *program) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done //nolint:errcheck // it was killed
}

// No command runs twice, whatever is killed and when. Each call ends as "ran, with this
// result", "never ran" or "may have run", and that is true.
func TestHeldKilledAtRandom(t *testing.T) {
	rounds := map[string]int{"": 3, "1": 40, "all": 2000}[os.Getenv("TOOLPROC_HELD")]
	binary := filepath.Join(t.TempDir(), "durable")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, "%s", out)
	var mu sync.Mutex // guards outcomes
	outcomes := map[string]int{}
	t.Run("rounds", func(t *testing.T) {
		for worker := range 4 {
			t.Run(fmt.Sprint(worker), func(t *testing.T) {
				t.Parallel()
				for n := worker; n < rounds; n += 4 {
					for outcome, count := range killAtRandom(t, binary, uint64(n)) {
						mu.Lock()
						outcomes[outcome] += count
						mu.Unlock()
					}
				}
			})
		}
	})
	t.Log(rounds, "rounds:", outcomes)
}

// killAtRandom runs some commands with a host and a manager that are killed, and
// returns how often each outcome was told.
func killAtRandom(t *testing.T, binary string, seed uint64) map[string]int {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 1))
	dir, err := os.MkdirTemp("/tmp", "durable") //nolint:usetesting // a socket's path is short
	require.NoError(t, err)
	defer func() { _ = os.RemoveAll(dir) }()
	socket, journal := filepath.Join(dir, "s"), filepath.Join(dir, "journal")
	manager := &program{args: []string{binary, "manager", socket}}
	host := &program{args: []string{binary, "host", socket, filepath.Join(dir, "db")}}
	const commands = 3
	for i := range commands {
		host.args = append(host.args, fmt.Sprintf("echo begin %d >>%s && sleep 0.0%d && echo end %d >>%s && exit %d", i, journal, random.IntN(4), i, journal, i))
	}
	manager.start(t)
	host.start(t)
	for range 1 + random.IntN(3) {
		select {
		case err := <-host.done:
			host.done <- err
		case <-time.After(time.Duration(random.IntN(120)) * time.Millisecond):
		}
		what := random.IntN(3)
		if what != 0 {
			manager.kill()
		}
		if what != 1 {
			host.kill()
		}
		if what != 0 {
			manager.start(t)
		}
		if what != 1 {
			host.start(t)
		}
	}
	err = <-host.done
	require.NoError(t, err, "seed %d: %s", seed, &host.log)
	defer manager.kill()

	settled(t, "begin . >>"+journal)
	text, err := os.ReadFile(journal)
	require.True(t, err == nil || os.IsNotExist(err))
	outcomes := map[string]int{}
	for i, line := range strings.Split(strings.TrimSpace(host.out.String()), "\n") {
		_, outcome, _ := strings.Cut(line, " && exit ")
		_, outcome, _ = strings.Cut(outcome, ": ")
		begun := bytes.Count(text, fmt.Appendf(nil, "begin %d\n", i))
		ended := bytes.Count(text, fmt.Appendf(nil, "end %d\n", i))
		about := fmt.Sprintf("seed %d, command %d: %s\n%s\n%s\n%s", seed, i, outcome, &host.out, &host.log, text)
		require.LessOrEqual(t, begun, 1, about)
		switch outcome {
		case fmt.Sprintf("exit %d", i):
			require.Equal(t, 1, ended, about)
			outcome = "exit"
		case "never ran":
			require.Zero(t, begun, about)
		case "may have run", "exit unknown":
		default:
			require.Fail(t, "a wrong result", about)
		}
		outcomes[outcome]++
	}
	return outcomes
}

// settled waits until the commands that a killed manager has left behind have ended: those
// that have begun, and that have not been killed, write their end.
func settled(t *testing.T, command string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return exec.CommandContext(context.Background(), "pgrep", "-f", command).Run() != nil
	}, 30*time.Second, 5*time.Millisecond)
}
