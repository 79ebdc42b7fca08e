//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/prockeep/internal/holder"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// saveTime is how long an upgrade waits for calls that must not be cut off, such
// as a kill.
const saveTime = 15 * time.Second

// An upgradeRequest is the body of the request for an upgrade. The program follows
// as a descriptor once the keeper has switched protocols.
type upgradeRequest struct {
	Upgrade string `json:"upgrade"` // a name that no other one has
}

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
	state, err := carry.Local.Save(ctx, s.local.Local)
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
	local, run, failed := carry.Local.Restore(&s.local.options, s.keep, state)
	if failed != nil {
		s.log.Error("the keeper cannot go on after an upgrade that failed", slog.String("error", failed.Error()))
		syscall.Exit(1) // the holder starts another one
	}
	s.local.Local = local.(*proclocal.Local) //nolint:forcetypeassert // package procmgr makes no other
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

// maxUpgradeTries is how many keepers an upgrade may meet that end in the midst of
// it, as at another program's upgrade.
const maxUpgradeTries = 100

// upgrade lets the keeper go on as the program of the opener.
func (o *opener) upgrade(ctx context.Context) error {
	if !holder.Supported {
		return errors.ErrUnsupported
	}
	path, err := o.program()
	if err != nil {
		return err
	}
	program, err := os.Open(path)
	if err != nil {
		return xerrors.Errorf("the keeper's program cannot be opened: %w", err)
	}
	defer program.Close()
	name := rand.Text()
	said := false
	for range maxUpgradeTries {
		l, err := o.connect(ctx)
		if err != nil {
			return err
		}
		switch {
		case slices.Contains(l.status.Upgrades, name):
			l.close()
			return nil
		case said:
			l.close()
			return xerrors.Errorf("the new program was started and has not taken over; the keeper goes on as the program of before, %s may say why", nameLog)
		}
		err = l.upgrade(ctx, program, name)
		if err == nil {
			said = true
			err = l.gone(ctx)
		}
		l.close()
		if err != nil && !errors.Is(err, errAbsent) {
			return err
		}
	}
	return xerrors.Errorf("each of %d keepers ended in the midst of it", maxUpgradeTries)
}

// upgrade asks the keeper at the other end for an upgrade. If it returns nil, that
// keeper is about to end, and the next one takes over.
func (l *line) upgrade(ctx context.Context, program *os.File, name string) error {
	defer l.bound(ctx, launchTime+saveTime)()
	err := l.askUpgrade(ctx, program, name)
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return xerrors.New("the keeper has not answered in time")
	}
	var told *refusedUpgrade
	if errors.As(err, &told) {
		return err
	}
	return errAbsent // it ended in the midst of this
}

// A refusedUpgrade is what a keeper says that goes on as it was.
type refusedUpgrade struct{ why string }

func (e *refusedUpgrade) Error() string { return e.why }

func (l *line) askUpgrade(ctx context.Context, program *os.File, name string) error {
	body, _ := json.Marshal(upgradeRequest{name}) // a string can always be written
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://localhost"+pathKeeper, strings.NewReader(string(body)))
	if err != nil {
		return err
	}
	if err := req.Write(l.conn); err != nil {
		return err
	}
	from := bufio.NewReader(l.conn)
	res, err := http.ReadResponse(from, req)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusSwitchingProtocols {
		res.Body.Close()
		return &refusedUpgrade{"the keeper has answered " + res.Status + ", and not as one that can be upgraded"}
	}
	if _, _, err := l.conn.WriteMsgUnix([]byte{0}, unix.UnixRights(fdOf(program)), nil); err != nil {
		return err
	}
	res, err = http.ReadResponse(from, req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var r report
	if err := json.NewDecoder(res.Body).Decode(&r); err != nil {
		return err
	}
	if r.Error != "" {
		return &refusedUpgrade{r.Error}
	}
	return nil
}
