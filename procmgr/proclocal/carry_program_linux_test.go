package proclocal_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/internal/leftover"
	"github.com/toolproc/toolproc/procmgr/internal/procstat"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A test that kills a keeper runs in a program of its own. That is the parent and
// the subreaper of the keepers, and their holder: it has their journal, their
// descriptors, and the codes of the leaders that they leave behind. A keeper is
// this test binary, which runs TestKeeperProgram. They talk by packets.

// A packet goes from a keeper to its holder, or back.
type packet struct {
	N    int    // of the question, and of its answer
	Call string // of the Keep, or of the test
	Err  string

	Key    carry.Key
	Leader carry.Leader
	Record []byte
	Roles  []carry.Role // of the descriptors that come with it

	Known  bool // Status is known
	Status carry.Status

	ID   string
	Data json.RawMessage // a request or an answer of the Local
}

// An order says what a keeper begins with. It is in a file, and the descriptors
// come with the first packet.
type order struct {
	LogDir  string
	State   *carry.State
	Journal *carry.Journal
}

// A line carries packets.
type line struct {
	conn *net.UnixConn
	mu   sync.Mutex // guards the fields below
	n    int
	asks map[int]chan packet
}

func newLine(fd int) *line {
	file := os.NewFile(uintptr(fd), "line")
	conn, err := net.FileConn(file)
	file.Close()
	if err != nil {
		panic(err)
	}
	return &line{conn: conn.(*net.UnixConn), asks: make(map[int]chan packet)}
}

func (l *line) send(p packet, files []carry.File) error {
	var fds []int
	for _, f := range files {
		p.Roles = append(p.Roles, f.Role)
		fds = append(fds, f.FD)
	}
	data, err := json.Marshal(p)
	if err != nil {
		return err
	}
	var rights []byte
	if len(fds) > 0 {
		rights = unix.UnixRights(fds...)
	}
	_, _, err = l.conn.WriteMsgUnix(data, rights, nil)
	return err
}

// receive returns the next packet and its descriptors.
func (l *line) receive() (p packet, files []carry.File, err error) {
	data, rights := make([]byte, 1<<20), make([]byte, 4<<10)
	n, nr, _, _, err := l.conn.ReadMsgUnix(data, rights)
	if err == nil && n == 0 {
		err = net.ErrClosed
	}
	if err == nil {
		err = json.Unmarshal(data[:n], &p)
	}
	if err != nil {
		return p, nil, err
	}
	messages, _ := unix.ParseSocketControlMessage(rights[:nr])
	for _, m := range messages {
		fds, _ := unix.ParseUnixRights(&m)
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			files = append(files, carry.File{Role: p.Roles[len(files)], FD: fd})
		}
	}
	return p, files, nil
}

// ask sends a packet and waits for the answer.
func (l *line) ask(p packet, files []carry.File) (packet, error) {
	answer := make(chan packet, 1)
	l.mu.Lock()
	l.n++
	p.N = l.n
	l.asks[p.N] = answer
	l.mu.Unlock()
	if err := l.send(p, files); err != nil {
		return packet{}, err
	}
	a, ok := <-answer
	if !ok {
		return packet{}, net.ErrClosed
	}
	if a.Err != "" {
		return a, errors.New(a.Err)
	}
	return a, nil
}

// answered hands an answer over to its ask.
func (l *line) answered(p packet) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if c := l.asks[p.N]; c != nil {
		delete(l.asks, p.N)
		c <- p
	}
}

// hangUp ends every ask.
func (l *line) hangUp() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n, c := range l.asks {
		delete(l.asks, n)
		close(c)
	}
}

// farKeep is the Keep of a keeper: each call is a packet to the holder.
type farKeep struct{ *line }

func (f farKeep) call(name string, k carry.Key, leader carry.Leader, record []byte, files []carry.File) error {
	_, err := f.ask(packet{Call: name, Key: k, Leader: leader, Record: record}, files)
	return err
}

func (f farKeep) Began(record []byte, files []carry.File) error {
	return f.call("Began", carry.Key{}, carry.Leader{}, record, files)
}

func (f farKeep) Starting(k carry.Key, record []byte, files []carry.File) error {
	return f.call("Starting", k, carry.Leader{}, record, files)
}

func (f farKeep) Started(k carry.Key, leader carry.Leader, record []byte) {
	_ = f.call("Started", k, leader, record, nil)
}

func (f farKeep) NotStarted(k carry.Key) { _ = f.call("NotStarted", k, carry.Leader{}, nil, nil) }

func (f farKeep) Turned(k carry.Key, record []byte) {
	_ = f.call("Turned", k, carry.Leader{}, record, nil)
}

func (f farKeep) Dropped(k carry.Key, roles ...carry.Role) {
	_ = f.send(packet{Call: "Dropped", Key: k, Roles: roles}, nil)
}

func (f farKeep) Forgotten(k carry.Key) { _ = f.send(packet{Call: "Forgotten", Key: k}, nil) }

func (f farKeep) Await(k carry.Key, leader carry.Leader) <-chan carry.Status {
	ends := make(chan carry.Status, 1)
	go func() { // ends with the answer, or with the line
		defer close(ends)
		if a, err := f.ask(packet{Call: "Await", Key: k, Leader: leader}, nil); err == nil && a.Known {
			ends <- a.Status
		}
	}()
	return ends
}

const keeperVariable = "PROCMGR_TEST_KEEPER"

// TestKeeperProgram is no test: it plays a keeper for others.
func TestKeeperProgram(t *testing.T) {
	path := os.Getenv(keeperVariable)
	if path == "" {
		return
	}
	require.NoError(t, os.Unsetenv(keeperVariable))
	unix.CloseOnExec(3)
	l := newLine(3)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	var o order
	require.NoError(t, json.Unmarshal(data, &o))
	files := make(map[uint64][]carry.File)
	for {
		p, got, err := l.receive()
		require.NoError(t, err)
		if p.Call == "go" {
			break
		}
		files[p.Key.Seq] = got
	}
	var local *proclocal.Local
	made := make(chan struct{})
	go func() { // the Keep is asked meanwhile
		opts, run := &proclocal.Options{LogDir: o.LogDir}, func() {}
		switch {
		case o.State != nil:
			o.State.Files = files
			local, run, err = proclocal.Restore(opts, farKeep{l}, o.State)
		case o.Journal != nil:
			o.Journal.Files = files
			local, run, err = proclocal.Recover(opts, farKeep{l}, o.Journal)
		default:
			local, err = proclocal.NewKept(opts, farKeep{l})
		}
		if err != nil {
			_ = l.send(packet{Call: "failed", Err: err.Error()}, nil)
			return
		}
		run()
		close(made)
		_ = l.send(packet{Call: "ready"}, nil)
	}()
	for {
		p, _, err := l.receive()
		if err != nil {
			os.Exit(0) // the holder has gone, or wants the keeper to go
		}
		if p.Call == "answer" {
			l.answered(p)
			continue
		}
		go func() { // ends with the program
			<-made
			a := packet{N: p.N, Call: "answer"}
			out, err := serve(local, p)
			if err != nil {
				a.Err = err.Error()
			}
			a.Data, _ = json.Marshal(out)
			_ = l.send(a, nil)
		}()
	}
}

// serve does what a test has asked a keeper for.
func serve(h *proclocal.Local, p packet) (any, error) {
	ctx := context.Background()
	m := h.Chat("c")
	switch p.Call {
	case "start":
		var req procmgr.StartRequest
		_ = json.Unmarshal(p.Data, &req)
		return m.Start(ctx, req)
	case "output":
		var req procmgr.OutputRequest
		_ = json.Unmarshal(p.Data, &req)
		return m.Output(ctx, p.ID, req)
	case "input":
		var req procmgr.InputRequest
		_ = json.Unmarshal(p.Data, &req)
		return m.Input(ctx, p.ID, req)
	case "signal":
		return nil, m.Signal(ctx, p.ID, procmgr.Signal(p.Record))
	case "list":
		return m.List(ctx, procmgr.ListRequest{})
	case "events":
		var req procmgr.EventsRequest
		_ = json.Unmarshal(p.Data, &req)
		return m.Events(ctx, req)
	case "close":
		return nil, h.Close()
	case "save":
		state, err := h.Save(ctx)
		if err != nil {
			return nil, err
		}
		state.Files = nil // the holder has them
		return len(state.Data), os.WriteFile(string(p.Record), must(json.Marshal(state)), 0o600)
	}
	return nil, errors.ErrUnsupported
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// A keeping is a keeper, as its holder sees it.
type keeping struct {
	t      *testing.T
	h      *holder
	dir    string
	logs   string
	line   *line
	cmd    *exec.Cmd
	ended  chan struct{} // the line has ended
	awaits sync.WaitGroup
	// forgets is set if the holder has died too: nobody knows a code.
	forgets bool
	// started is what becomes of the news that a leader has been forked; nil: it is
	// written down and answered.
	started func() (write, answer bool)

	mu   sync.Mutex // guards ends
	ends map[int]func() *carry.Status
}

// newKeeping starts the first keeper. The test runs in a program of its own.
func newKeeping(t *testing.T, logs string) *keeping {
	t.Helper()
	require.NoError(t, unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
	k := &keeping{t: t, h: newHolder(t), dir: t.TempDir(), logs: logs, ends: make(map[int]func() *carry.Status)}
	k.launch(order{LogDir: logs}, nil)
	return k
}

// launch starts a keeper.
func (k *keeping) launch(o order, files map[uint64][]carry.File) {
	t := k.t
	t.Helper()
	path := filepath.Join(k.dir, "order")
	require.NoError(t, os.WriteFile(path, must(json.Marshal(o)), 0o600))
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	require.NoError(t, err)
	for _, fd := range fds {
		_ = unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_SNDBUF, 4<<20)
	}
	theirs := os.NewFile(uintptr(fds[1]), "line")
	k.cmd = exec.Command(must(os.Executable()), "-test.run=^TestKeeperProgram$", "-test.count=1", "-test.timeout=5m")
	k.cmd.ExtraFiles = []*os.File{theirs}
	k.cmd.Env = append(os.Environ(), keeperVariable+"="+path)
	k.cmd.Stderr = os.Stderr
	require.NoError(t, k.cmd.Start())
	theirs.Close()
	k.line = newLine(fds[0])
	for seq, all := range files {
		require.NoError(t, k.line.send(packet{Call: "files", Key: carry.Key{Seq: seq}}, all))
		for _, f := range all {
			unix.Close(f.FD)
		}
	}
	require.NoError(t, k.line.send(packet{Call: "go"}, nil))
	ready := make(chan error, 1)
	k.ended = make(chan struct{})
	go k.hold(k.line, k.ended, ready) // it ends with the keeper
	require.NoError(t, <-ready)
}

// hold answers a keeper.
func (k *keeping) hold(l *line, ended chan struct{}, ready chan<- error) {
	defer close(ended)
	defer l.hangUp()
	for {
		p, files, err := l.receive()
		if err != nil {
			select {
			case ready <- err:
			default:
			}
			return
		}
		a := packet{N: p.N, Call: "answer"}
		switch p.Call {
		case "answer":
			l.answered(p)
			continue
		case "ready":
			ready <- nil
			continue
		case "failed":
			ready <- errors.New(p.Err)
			continue
		case "Began":
			err = k.h.Began(p.Record, files)
		case "Starting":
			err = k.h.Starting(p.Key, p.Record, files)
		case "Started":
			write, answer := true, true
			if k.started != nil {
				write, answer = k.started()
			}
			if write {
				k.h.Started(p.Key, p.Leader, p.Record)
			}
			if !answer {
				continue
			}
		case "NotStarted":
			k.h.NotStarted(p.Key)
		case "Turned":
			k.h.Turned(p.Key, p.Record)
		case "Dropped":
			k.h.Dropped(p.Key, p.Roles...)
			continue
		case "Forgotten":
			k.h.Forgotten(p.Key)
			continue
		case "Await":
			k.awaits.Go(func() { k.await(l, a, p.Leader.PID) })
			continue
		}
		for _, f := range files {
			unix.Close(f.FD)
		}
		if err != nil {
			a.Err = err.Error()
		}
		_ = l.send(a, nil)
	}
}

// await waits for a leader that a keeper has left behind, and tells how it ended.
func (k *keeping) await(l *line, a packet, pid int) {
	if k.forgets {
		_ = l.send(a, nil)
		return
	}
	k.mu.Lock()
	end := k.ends[pid]
	if end == nil {
		end = sync.OnceValue(func() *carry.Status { return reaped(pid) })
		k.ends[pid] = end
	}
	k.mu.Unlock()
	if s := end(); s != nil {
		a.Known, a.Status = true, *s
	}
	_ = l.send(a, nil)
}

// reaped waits for a child, and returns how it ended. A child that is about to be
// killed at its first instruction may stop before that.
func reaped(pid int) *carry.Status {
	var status unix.WaitStatus
	var usage unix.Rusage
	got, err := pid, error(unix.EINTR)
	for err == unix.EINTR || err == nil && status.Stopped() {
		got, err = unix.Wait4(pid, &status, 0, &usage)
	}
	if err != nil || got != pid {
		return nil
	}
	s := &carry.Status{
		Code: status.ExitStatus(), User: time.Duration(usage.Utime.Nano()), System: time.Duration(usage.Stime.Nano()), MaxRSS: int64(usage.Maxrss) << 10,
	}
	if status.Signaled() {
		s.Signal = int(status.Signal())
	}
	return s
}

// kill ends the keeper, as kill -9 does.
func (k *keeping) kill() {
	_ = k.cmd.Process.Kill()
	_ = k.cmd.Wait()
	<-k.ended
	_ = k.line.conn.Close()
}

// strays returns what Journal.Strays is for.
func (k *keeping) strays() (all []carry.Leader) {
	told := make(map[carry.Leader]bool)
	k.h.mu.Lock()
	for _, leader := range k.h.leaders {
		told[leader] = true
	}
	k.h.mu.Unlock()
	for _, text := range leftover.Children() {
		pid := atoi(k.t, text)
		p, ok := procstat.Look(pid)
		for ok && p.Unborn && !p.Ended() && isProgram(text) { // the keeper's child, on the way to its exec
			_ = unix.Kill(pid, unix.SIGSTOP)
			for ok && !p.Stopped() && !p.Ended() {
				p, ok = procstat.Look(pid)
			}
			end := unix.SIGKILL
			if !p.Unborn { // it has reached its exec meanwhile
				end = unix.SIGCONT
			}
			_ = unix.Kill(pid, end)
			p, ok = procstat.Look(pid)
		}
		leader := carry.Leader{PID: pid, Start: p.Start}
		if ok && !told[leader] && !p.Unborn {
			all = append(all, leader)
		}
	}
	return all
}

// isProgram reports whether the process with a number runs the program of this one. A command's child
// has the program of the command before its own exec.
func isProgram(pid string) bool {
	exe, err := os.Readlink("/proc/" + pid + "/exe")
	own, failed := os.Readlink("/proc/self/exe")
	return err == nil && failed == nil && exe == own
}

// crash kills the keeper, and starts another one with the journal.
func (k *keeping) crash() {
	k.t.Helper()
	k.kill()
	j := k.h.journal()
	j.Strays = k.strays()
	files := j.Files
	j.Files = nil
	k.launch(order{LogDir: k.logs, Journal: j}, files)
}

// upgrade saves the keeper, ends it, and starts another one with the state.
func (k *keeping) upgrade() {
	k.t.Helper()
	path := filepath.Join(k.dir, "state")
	_, err := k.line.ask(packet{Call: "save", Record: []byte(path)}, nil)
	require.NoError(k.t, err)
	k.kill()
	var state carry.State
	require.NoError(k.t, json.Unmarshal(must(os.ReadFile(path)), &state))
	j := k.h.journal()
	k.launch(order{LogDir: k.logs, State: &state}, j.Files)
}

// end closes the Local, ends the keeper, and reaps what is left.
func (k *keeping) end() {
	_, err := k.line.ask(packet{Call: "close"}, nil)
	require.NoError(k.t, err)
	require.Equal(k.t, 0, k.h.holds(), "all descriptors were dropped")
	k.kill()
	k.awaits.Wait()
	for {
		_, err := unix.Wait4(-1, nil, 0, nil)
		if err == syscall.ECHILD {
			return
		}
	}
}

func ask[T any](k *keeping, p packet, req any) (answer T, err error) {
	p.Data = must(json.Marshal(req))
	a, err := k.line.ask(p, nil)
	if len(a.Data) > 0 {
		_ = json.Unmarshal(a.Data, &answer)
	}
	return answer, err
}

func (k *keeping) start(req procmgr.StartRequest) (procmgr.Output, error) {
	return ask[procmgr.Output](k, packet{Call: "start"}, req)
}

func (k *keeping) output(id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	return ask[procmgr.Output](k, packet{Call: "output", ID: id}, req)
}

func (k *keeping) input(id string, req procmgr.InputRequest) (procmgr.InputOutput, error) {
	return ask[procmgr.InputOutput](k, packet{Call: "input", ID: id}, req)
}

func (k *keeping) signal(id string, sig procmgr.Signal) error {
	_, err := k.line.ask(packet{Call: "signal", ID: id, Record: []byte(sig)}, nil)
	return err
}

func (k *keeping) list() []procmgr.Process {
	page, err := ask[procmgr.ListPage](k, packet{Call: "list"}, nil)
	require.NoError(k.t, err)
	return page.Processes
}

func (k *keeping) events(req procmgr.EventsRequest) procmgr.EventPage {
	page, err := ask[procmgr.EventPage](k, packet{Call: "events"}, req)
	require.NoError(k.t, err)
	return page
}

// exited waits until a process has exited.
func (k *keeping) exited(id string) procmgr.Output {
	k.t.Helper()
	for range 100 {
		out, err := k.output(id, procmgr.OutputRequest{Wait: long})
		require.NoError(k.t, err)
		if out.Process.State == procmgr.Exited {
			return out
		}
	}
	require.Fail(k.t, "it does not end: "+id)
	return procmgr.Output{}
}
