package holder_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/prockeep/internal/holder"
)

const envRole = "HOLDER_TEST_ROLE"

// long is a time that a test waits only if something is wrong.
const long = 20 * time.Second

func TestMain(m *testing.M) {
	switch os.Getenv(envRole) {
	case "holder":
		order, err := io.ReadAll(os.NewFile(holder.FDOrder, "order"))
		if err == nil {
			err = holder.Run(holder.Config{
				Args: []string{os.Args[0]}, Env: []string{envRole + "=keeper"}, Order: order,
				Logger: slog.New(slog.NewTextHandler(os.Stderr, nil)),
			})
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	case "keeper":
		if err := keeper(); err != nil {
			fmt.Fprintln(os.Stderr, "keeper:", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// A question is what a test asks the keeper; an answer is what that says. The
// first answer of each keeper is to no question.
type question struct {
	Do   string
	Seq  uint64
	PID  int
	Text string
}

type answer struct {
	PID        int
	Text       string
	Error      string
	End        *carry.Status
	Generation int
	State      string
	Crash      bool
	Fallback   bool
	Held       []string
	Strays     []holder.Stray
	Unsure     bool
	Ending     bool
}

// keeper plays a keeper that does what the test says.
func keeper() error {
	order := os.NewFile(holder.FDOrder, "order")
	socket, err := io.ReadAll(io.NewSectionReader(order, 0, 1000))
	if err != nil {
		return err
	}
	link, heritage, err := holder.Attach(slog.New(slog.DiscardHandler), func(text string) error {
		if text != "ok" {
			return errors.New("refused: " + text)
		}
		return nil
	})
	if err != nil {
		return err
	}
	conn, err := net.Dial("unix", string(socket))
	if err != nil {
		return err
	}
	said := json.NewEncoder(conn)
	hello := answer{PID: os.Getpid(), Generation: heritage.Generation, Crash: heritage.Crash, Fallback: heritage.Fallback, Strays: heritage.Strays, Unsure: heritage.Unsure, Ending: heritage.Ending}
	if heritage.State != nil {
		text, _ := io.ReadAll(io.NewSectionReader(heritage.State, 0, 1<<20))
		hello.State = string(text)
	}
	files, ends := make(map[uint64]*os.File), make(map[uint64]<-chan carry.Status)
	for _, f := range heritage.Held {
		hello.Held = append(hello.Held, fmt.Sprint(f.Seq, f.Role))
		files[f.Seq] = os.NewFile(uintptr(f.FD), f.Role)
	}
	if err := said.Encode(hello); err != nil {
		return err
	}
	asks := json.NewDecoder(conn)
	for {
		var q question
		if err := asks.Decode(&q); err != nil {
			return err
		}
		var a answer
		switch q.Do {
		case "spawn": // a command whose output the holder has
			r, w, _ := os.Pipe()
			if err = link.Give(q.Seq, []string{"output"}, []int{int(r.Fd())}); err == nil {
				cmd := exec.Command("/bin/sh", "-c", q.Text)
				cmd.Stdout = w
				cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
				if err = cmd.Start(); err == nil {
					a.PID = cmd.Process.Pid
				}
			}
			w.Close()
			files[q.Seq] = r
		case "read":
			var text []byte
			text, err = io.ReadAll(files[q.Seq])
			a.Text = string(text)
		case "await":
			ends[q.Seq] = link.Await(q.Seq, q.PID)
		case "end of":
			if e, ok := <-ends[q.Seq]; ok {
				a.End = &e
			}
		case "drop":
			link.Drop(q.Seq, q.Text)
		case "forget":
			link.Forget(q.Seq)
		case "settle":
			link.Settle(q.Text != "unwritten")
		case "upgrade":
			program, failed := os.Open("/proc/self/exe")
			if q.Seq == 1 { // one that cannot run
				program, failed = os.Open("/bin/true")
			}
			if err = failed; err == nil {
				err = link.Upgrade(context.Background(), program, q.Text)
			}
		case "store":
			fd, _ := unix.MemfdCreate("state", unix.MFD_CLOEXEC)
			state := os.NewFile(uintptr(fd), "state")
			_, _ = state.WriteString(q.Text)
			err = link.Store(state)
		case "commit":
			if err = link.Commit(); err == nil {
				return nil
			}
		case "exit":
			os.Exit(int(q.Seq))
		case "gone":
			<-link.Gone()
		case "begin to end":
			link.End()
		case "end":
			link.End()
			return nil
		}
		if err != nil {
			a.Error = err.Error()
		}
		if err := said.Encode(a); err != nil {
			return err
		}
	}
}

// A stage is a holder and the connections of its keepers.
type stage struct {
	*testing.T
	holder  *exec.Cmd
	ended   chan error
	keepers net.Listener
}

func newStage(t *testing.T) *stage {
	t.Helper()
	dir, err := os.MkdirTemp("", "h") //nolint:usetesting // the name of t.TempDir is too long for a socket in it
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	s := &stage{T: t, ended: make(chan error, 1)}
	s.keepers, err = net.Listen("unix", filepath.Join(dir, "s"))
	require.NoError(t, err)
	t.Cleanup(func() { s.keepers.Close() })
	r, w, err := os.Pipe()
	require.NoError(t, err)
	_, err = w.WriteString(filepath.Join(dir, "s"))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	s.holder = exec.Command(os.Args[0])
	s.holder.Env = []string{envRole + "=holder"}
	s.holder.ExtraFiles = []*os.File{r}
	s.holder.Stderr = os.Stderr
	require.NoError(t, s.holder.Start())
	r.Close()
	go func() { s.ended <- s.holder.Wait() }() // the cleanup waits
	t.Cleanup(func() {
		_ = s.holder.Process.Kill()
		if _, err := os.Stat("/proc/" + strconv.Itoa(s.holder.Process.Pid)); err == nil {
			_ = s.over() // it was killed
		}
	})
	return s
}

// over waits for the end of the holder.
func (s *stage) over() error {
	s.Helper()
	select {
	case err := <-s.ended:
		return err
	case <-time.After(long):
		s.Fatal("the holder goes on")
		return nil
	}
}

// A player is a keeper as the test sees it.
type player struct {
	*stage
	answer // the first one
	conn   net.Conn
	from   *json.Decoder
}

// next waits for the next keeper.
func (s *stage) next() *player {
	s.Helper()
	require.NoError(s, s.keepers.(*net.UnixListener).SetDeadline(time.Now().Add(long)))
	conn, err := s.keepers.Accept()
	require.NoError(s, err)
	s.Cleanup(func() { conn.Close() })
	p := &player{stage: s, conn: conn, from: json.NewDecoder(conn)}
	require.NoError(s, p.from.Decode(&p.answer))
	return p
}

func (p *player) send(q question) {
	p.Helper()
	require.NoError(p, json.NewEncoder(p.conn).Encode(q))
}

func (p *player) ask(q question) (a answer) {
	p.Helper()
	p.send(q)
	require.NoError(p, p.conn.SetReadDeadline(time.Now().Add(long)))
	require.NoError(p, p.from.Decode(&a))
	return a
}

func (p *player) kill() {
	p.Helper()
	require.NoError(p, syscall.Kill(p.PID, syscall.SIGKILL))
}

// After a keeper was killed, the next one has the pipes, and the holder tells it
// the ends: of a leader that ended while no keeper lived, and of one that ends
// later. A child that nobody awaits is reaped.
func TestKeeperIsKilled(t *testing.T) {
	s := newStage(t)
	one := s.next()
	require.Equal(t, answer{PID: one.PID}, one.answer)
	one.ask(question{Do: "settle"})
	soon := one.ask(question{Do: "spawn", Seq: 1, Text: "echo one; exit 7"})
	late := one.ask(question{Do: "spawn", Seq: 2, Text: "sleep 0.3; echo two; kill -TERM $$"})
	other := one.ask(question{Do: "spawn", Seq: 3, Text: "sleep 0.2 & exit 3"})
	one.kill()

	two := s.next()
	require.True(t, two.Crash)
	require.Equal(t, 1, two.Generation)
	require.ElementsMatch(t, []string{"1output", "2output", "3output"}, two.Held)
	require.Eventually(t, func() bool { return state(soon.PID) == "Z" }, long, time.Millisecond, "it is kept until somebody awaits it")
	require.Eventually(t, func() bool { return state(other.PID) == "Z" }, long, time.Millisecond)
	two.ask(question{Do: "await", Seq: 1, PID: soon.PID})
	time.Sleep(20 * time.Millisecond)
	require.Equal(t, "Z", state(soon.PID), "it is kept until the keeper has settled")
	two.kill()

	three := s.next()
	three.ask(question{Do: "await", Seq: 1, PID: soon.PID})
	three.ask(question{Do: "await", Seq: 2, PID: late.PID})
	three.ask(question{Do: "settle"})
	require.Equal(t, 7, three.ask(question{Do: "end of", Seq: 1}).End.Code)
	require.Equal(t, 15, three.ask(question{Do: "end of", Seq: 2}).End.Signal)
	require.Equal(t, "one\n", three.ask(question{Do: "read", Seq: 1}).Text)
	require.Equal(t, "two\n", three.ask(question{Do: "read", Seq: 2}).Text)
	require.Empty(t, three.ask(question{Do: "read", Seq: 3}).Text)
	require.Eventually(t, func() bool { return state(other.PID) == "" }, long, time.Millisecond)
	three.kill()

	four := s.next()
	four.ask(question{Do: "await", Seq: 1, PID: soon.PID})
	require.Equal(t, 7, four.ask(question{Do: "end of", Seq: 1}).End.Code, "it is told until the keeper forgets it")
	for seq := range uint64(3) {
		four.ask(question{Do: "forget", Seq: seq + 1})
	}
	four.ask(question{Do: "await", Seq: 9, PID: 1})
	require.Nil(t, four.ask(question{Do: "end of", Seq: 9}).End, "somebody else's child")
	four.send(question{Do: "end"})
	require.NoError(t, s.over())
}

// state returns the state of a process, as "S" or "Z"; "" is none.
func state(pid int) string {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return ""
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return rest[:1]
}

// If a keeper could not write down what it has found out, nobody can any more: what
// it knew of is reaped. The keepers after it are told.
func TestUnwritten(t *testing.T) {
	s := newStage(t)
	one := s.next()
	one.ask(question{Do: "settle"})
	one.kill()
	two := s.next()
	require.False(t, two.Unsure)
	two.ask(question{Do: "settle", Text: "unwritten"})
	for range 2 {
		two.kill()
		two = s.next()
		require.True(t, two.Unsure)
		two.ask(question{Do: "settle"})
	}
	two.send(question{Do: "end"})
	require.NoError(t, s.over())
}

// A child of the dead keeper that has ended in any way is told, if it was not
// awaited.
func TestStrays(t *testing.T) {
	s := newStage(t)
	one := s.next()
	one.ask(question{Do: "settle"})
	child := one.ask(question{Do: "spawn", Seq: 1, Text: "exit 3"})
	live := one.ask(question{Do: "spawn", Seq: 2, Text: "exec sleep 1000"})
	require.Eventually(t, func() bool { return state(child.PID) == "Z" }, long, time.Millisecond)
	one.kill()
	two := s.next()
	require.Contains(t, two.Strays, holder.Stray{PID: child.PID, Ended: true})
	require.Contains(t, two.Strays, holder.Stray{PID: live.PID})
	require.NoError(t, syscall.Kill(live.PID, syscall.SIGKILL))
	two.send(question{Do: "end"})
	require.NoError(t, s.over())
}

// An upgrade: the next program has the state and the pipes. No state is given
// twice.
func TestUpgrade(t *testing.T) {
	s := newStage(t)
	p := s.next()
	p.ask(question{Do: "settle"})
	child := p.ask(question{Do: "spawn", Seq: 1, Text: "sleep 0.2; echo out; exit 4"})
	for i := range 3 {
		require.Empty(t, p.ask(question{Do: "upgrade", Text: "ok"}).Error)
		text := fmt.Sprint("state ", i)
		require.Empty(t, p.ask(question{Do: "store", Text: text}).Error)
		p.send(question{Do: "commit"})
		p = s.next()
		require.Equal(t, text, p.State)
		require.False(t, p.Crash)
		require.False(t, p.Fallback)
		require.Equal(t, []string{"1output"}, p.Held)
		p.ask(question{Do: "await", Seq: 1, PID: child.PID})
		p.ask(question{Do: "settle"})
	}
	require.Equal(t, 4, p.ask(question{Do: "end of", Seq: 1}).End.Code)
	require.Equal(t, "out\n", p.ask(question{Do: "read", Seq: 1}).Text)
	p.kill()
	p = s.next()
	require.Empty(t, p.State)
	require.True(t, p.Crash)
	p.send(question{Do: "end"})
	require.NoError(t, s.over())
}

// An upgrade that fails changes nothing: the program refuses, or it is none, or
// the keeper gives it up.
func TestUpgradeFails(t *testing.T) {
	s := newStage(t)
	p := s.next()
	p.ask(question{Do: "settle"})
	require.Equal(t, "the new program cannot go on for the keeper: refused: no", p.ask(question{Do: "upgrade", Text: "no"}).Error)
	require.Contains(t, p.ask(question{Do: "upgrade", Seq: 1, Text: "ok"}).Error, "it has ended (exit status 0)")
	require.Empty(t, p.ask(question{Do: "upgrade", Text: "ok"}).Error)
	require.Empty(t, p.ask(question{Do: "store", Text: "old"}).Error, "it never counts")
	p.kill()
	next := s.next()
	require.Empty(t, next.State)
	require.True(t, next.Crash)
	next.send(question{Do: "end"})
	require.NoError(t, s.over())
}

// If the new program dies before it serves, that of before takes the state over.
func TestNewProgramDies(t *testing.T) {
	s := newStage(t)
	p := s.next()
	p.ask(question{Do: "settle"})
	require.Empty(t, p.ask(question{Do: "upgrade", Text: "ok"}).Error)
	require.Empty(t, p.ask(question{Do: "store", Text: "state"}).Error)
	p.send(question{Do: "commit"})
	p = s.next()
	require.Equal(t, "state", p.State)
	p.kill()
	p = s.next()
	require.Equal(t, "state", p.State)
	require.True(t, p.Fallback)
	p.ask(question{Do: "settle"})
	p.kill()
	p = s.next()
	require.Empty(t, p.State, "an old state never comes back")
	p.send(question{Do: "end"})
	require.NoError(t, s.over())
}

// Keepers that die before they serve are not started for ever.
func TestNoKeeperServes(t *testing.T) {
	s := newStage(t)
	p := s.next()
	p.ask(question{Do: "settle"})
	p.kill()
	for range 5 {
		s.next().send(question{Do: "exit", Seq: 2})
	}
	require.NoError(t, s.over())
}

// A keeper that is stopped does not hold up the holder, which still adopts and
// reaps.
func TestKeeperIsStopped(t *testing.T) {
	s := newStage(t)
	p := s.next()
	p.ask(question{Do: "settle"})
	child := p.ask(question{Do: "spawn", Seq: 1, Text: "sh -c 'sleep 0.1; exit 3' & echo $!"})
	require.NoError(t, syscall.Kill(p.PID, syscall.SIGSTOP))
	require.Eventually(t, func() bool { return state(child.PID) == "Z" }, long, time.Millisecond)
	p.kill()
	next := s.next()
	require.True(t, next.Crash)
	text := next.ask(question{Do: "read", Seq: 1}).Text
	orphan, err := strconv.Atoi(strings.TrimSpace(text))
	require.NoError(t, err)
	next.ask(question{Do: "settle"})
	require.Eventually(t, func() bool { return state(orphan) == "" }, long, time.Millisecond)
	next.send(question{Do: "end"})
	require.NoError(t, s.over())
}

// If the holder dies, the keeper goes on, and nobody knows the ends any more.
func TestHolderIsKilled(t *testing.T) {
	s := newStage(t)
	p := s.next()
	p.ask(question{Do: "settle"})
	child := p.ask(question{Do: "spawn", Seq: 1, Text: "echo out"})
	require.NoError(t, s.holder.Process.Kill())
	require.Error(t, s.over())
	p.ask(question{Do: "gone"})
	p.ask(question{Do: "await", Seq: 1, PID: child.PID})
	require.Nil(t, p.ask(question{Do: "end of", Seq: 1}).End)
	require.Equal(t, "out\n", p.ask(question{Do: "read", Seq: 1}).Text)
	require.NotEmpty(t, p.ask(question{Do: "upgrade", Text: "ok"}).Error)
	p.ask(question{Do: "drop", Seq: 1, Text: "output"})
	p.send(question{Do: "exit"})
}

// A holder that is stopped does not hold up the keeper for long, and a state that
// it finds later does not count.
func TestHeldHolderIsStopped(t *testing.T) {
	testenv.Held(t)
	s := newStage(t)
	p := s.next()
	p.ask(question{Do: "settle"})
	require.Empty(t, p.ask(question{Do: "upgrade", Text: "ok"}).Error)
	require.NoError(t, s.holder.Process.Signal(syscall.SIGSTOP))
	require.Eventually(t, func() bool { return state(s.holder.Process.Pid) == "T" }, long, time.Millisecond)
	require.NotEmpty(t, p.ask(question{Do: "store", Text: "old"}).Error)
	p.ask(question{Do: "gone"})
	require.NoError(t, s.holder.Process.Signal(syscall.SIGCONT))
	require.NoError(t, s.over(), "it has nothing to hold any more")
	p.send(question{Do: "exit"})
}

// SIGTERM to the holder is for its keeper.
func TestTerm(t *testing.T) {
	s := newStage(t)
	p := s.next()
	p.ask(question{Do: "settle"})
	require.NoError(t, s.holder.Process.Signal(syscall.SIGTERM))
	next := s.next()
	require.True(t, next.Crash, "this keeper dies by it")
	next.send(question{Do: "end"})
	require.NoError(t, s.over())
}

// A keeper that is killed while it ends for good has another one that goes on with
// that, with all that was held.
func TestKilledAtItsEnd(t *testing.T) {
	s := newStage(t)
	p := s.next()
	p.ask(question{Do: "settle"})
	require.False(t, p.Ending)
	p.ask(question{Do: "spawn", Seq: 7, Text: "sleep 0.2"})
	p.ask(question{Do: "begin to end"})
	p.kill()
	for range 2 { // the next one is killed too, before it serves
		p = s.next()
		require.True(t, p.Ending)
		require.Equal(t, []string{"7output"}, p.Held)
		if p.Generation == 1 {
			p.kill()
		}
	}
	p.send(question{Do: "exit"})
	require.NoError(t, s.over())
}
