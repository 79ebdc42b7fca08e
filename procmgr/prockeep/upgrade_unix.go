//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// upgrade serves an upgrade. It takes the connection from the server. If it
// succeeds, this program ends by it, and the next one serves.
func (s *server) upgrade(w http.ResponseWriter, req *http.Request) {
	var asked upgradeRequest
	if err := json.NewDecoder(io.LimitReader(req.Body, 1<<10)).Decode(&asked); err != nil || asked.Upgrade == "" {
		http.Error(w, "no upgrade", http.StatusBadRequest)
		return
	}
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.log.Error("an upgrade cannot be answered", slog.String("error", err.Error()))
		return
	}
	defer conn.Close()
	program, err := receiveProgram(conn)
	if err == nil {
		defer program.Close()
		s.answers.RLock()
		defer s.answers.RUnlock()
		err = s.tryUpgrade(program, asked.Upgrade, func() { _ = answer(conn, req, report{}) })
	}
	if err != nil {
		s.log.Warn("no upgrade", slog.String("error", err.Error()))
		_ = answer(conn, req, report{Error: err.Error()}) // a caller that has gone needs no answer
	}
}

func answer(conn net.Conn, req *http.Request, r report) error {
	data, _ := json.Marshal(r) // a report can always be written
	res := http.Response{
		StatusCode: http.StatusOK, ProtoMajor: 1, ProtoMinor: 1, Request: req,
		Body: io.NopCloser(bytes.NewReader(data)), ContentLength: int64(len(data)),
	}
	return res.Write(conn)
}

// tryUpgrade calls going when the next program takes over.
func (s *server) tryUpgrade(program *os.File, name string, going func()) error {
	s.upgrading.Lock() // one at a time; the next one is for the program that comes now
	defer s.upgrading.Unlock()
	switch {
	case s.link == nil:
		return xerrors.New("the keeper has no holder")
	case s.context.Err() != nil:
		return errEnding
	}
	text, _ := json.Marshal(check{Protocol: protocol, State: stateVersion}) // numbers can always be written
	if err := s.link.Upgrade(s.context, program, string(text)); err != nil {
		if s.context.Err() != nil {
			err = errEnding
		}
		return err
	}
	if err := s.handOver(name, going); err != nil {
		s.link.Cancel()
		return xerrors.Errorf("the keeper goes on as it was: %w", err)
	}
	return nil // not reached
}

// handOver gives the state to the holder and ends this program. If that fails, the
// keeper goes on, and handOver returns why.
func (s *server) handOver(name string, going func()) error {
	s.looking.Lock()
	_ = s.listener.SetDeadline(time.Unix(1, 0)) // connections wait for the next keeper from now on
	s.breaking.Store(true)
	s.looking.Unlock()
	resume := func() {
		s.breaking.Store(false)
		_ = s.listener.SetDeadline(time.Time{})
	}
	ctx, cancel := context.WithTimeout(s.context, saveTime)
	defer cancel()
	state, err := s.local.Save(ctx)
	if err != nil {
		resume()
		return err
	}
	file, err := s.write(name, state)
	if err == nil {
		err = s.link.Store(file)
		_ = file.Close() // the holder has it
	}
	if err == nil && s.context.Err() != nil {
		err = errEnding // the next keeper would know nothing of that
	}
	if err == nil {
		going()
		err = s.link.Commit()
	}
	if err == nil {
		syscall.Exit(0)
	}
	local, run, failed := proclocal.Restore(&s.local.options, s.keep, state)
	if failed != nil {
		s.log.Error("the keeper cannot go on after an upgrade that failed", slog.String("error", failed.Error()))
		syscall.Exit(1) // the holder starts another one
	}
	s.local.Local = local
	s.line.Answers = s.line.Save()
	if failed := s.handle(s.line); failed != nil {
		s.log.Error("no handler", slog.String("error", failed.Error()))
	}
	run()
	resume()
	return err
}

// write returns a file in memory with a state: an upgrade needs no room on a disk.
func (s *server) write(name string, state *carry.State) (*os.File, error) {
	next := succession{
		State: carry.State{Version: state.Version, Data: state.Data}, Instance: s.line.Instance, Answers: s.line.Save(),
		Upgrade: name, Upgrades: s.upgrades,
	}
	s.keep.flush()
	next.Late = s.keep.journal.TakeLate()
	file, err := memory("state")
	if err == nil {
		err = json.NewEncoder(file).Encode(next)
	}
	if err != nil {
		for _, e := range next.Late {
			s.keep.journal.Tell(e.Kind, e.Key, e.Record)
		}
	}
	return file, err
}

// receiveProgram asks for the program of an upgrade, and receives its open file.
func receiveProgram(conn net.Conn) (*os.File, error) {
	c, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, xerrors.New("the connection is no unix socket")
	}
	_ = c.SetDeadline(time.Now().Add(greetTime)) // a socket has deadlines
	defer func() { _ = c.SetDeadline(time.Time{}) }()
	if _, err := io.WriteString(c, "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: keeper\r\n\r\n"); err != nil {
		return nil, err
	}
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := c.ReadMsgUnix(make([]byte, 1), oob)
	if err != nil {
		return nil, xerrors.Errorf("the program was not received: %w", err)
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		return nil, xerrors.New("the program was not received")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return nil, xerrors.New("the program was not received")
	}
	unix.CloseOnExec(fds[0])
	return os.NewFile(uintptr(fds[0]), "program"), nil
}
