//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// launch starts a keeper, and returns when it serves. It leaves nothing behind if
// it fails. The caller holds the lock.
func (o *opener) launch(ctx context.Context) error {
	program, err := o.program()
	if err != nil {
		return err
	}
	log, err := openLog(filepath.Join(o.dir, nameLog))
	if err != nil {
		return xerrors.Errorf("%s: %w", nameLog, err)
	}
	defer log.Close()
	said, _ := log.Seek(0, io.SeekEnd) // where its own words begin
	theirs, ours, err := pipes()
	if err != nil {
		return err
	}
	defer closeAll(ours)
	name := os.Args[0]
	if o.options.Path != "" {
		name = program
	}
	cmd := &exec.Cmd{
		Path: program, Args: []string{name}, Dir: "/",
		Env:    append(minimalEnv(), envMark+"="+markLaunch),
		Stdout: log, Stderr: log, ExtraFiles: theirs,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true},
	}
	err = cmd.Start()
	closeAll(theirs)
	if err != nil {
		return xerrors.Errorf("the keeper's program cannot be started: %w", err)
	}
	err = o.instruct(ctx, ours)
	if err != nil {
		// It has not been waited for, so the number is still its group's.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // an error means that all of it has ended
	}
	_ = cmd.Wait() // its report counts, not its code
	if errors.Is(err, errNoKeeper) {
		return xerrors.Errorf("%s was started as a keeper and did not become one%s; its main function has to call prockeep.Main before anything else: %w",
			program, lastWords(log, said), procmgr.ErrInvalid)
	}
	return err
}

// errNoKeeper is the error of a program that has not sent a report.
var errNoKeeper = xerrors.New("it is no keeper")

// instruct sends the order and reads the report.
func (o *opener) instruct(ctx context.Context, ours []*os.File) error {
	send, receive := ours[0], ours[1]
	late := time.Now().Add(launchTime)
	for _, f := range ours {
		_ = f.SetDeadline(late) // pipes have deadlines
	}
	ended := context.AfterFunc(ctx, func() {
		for _, f := range ours {
			_ = f.SetDeadline(time.Unix(1, 0))
		}
	})
	defer ended()
	data, err := json.Marshal(order{Dir: o.dir, Options: o.options, Token: rand.Text()})
	if err != nil {
		return err
	}
	if _, err = send.Write(data); err == nil {
		err = send.Close()
	}
	var got report
	if err == nil {
		err = json.NewDecoder(receive).Decode(&got)
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return errNoKeeper
	case got.Error == "":
		return nil
	case got.Taken:
		return xerrors.Errorf("%s: %w", got.Error, errTaken)
	case got.Invalid:
		return xerrors.Errorf("%s: %w", got.Error, procmgr.ErrInvalid)
	}
	return xerrors.New(got.Error)
}

// pipes returns the ends of the order and of the report.
func pipes() (theirs, ours []*os.File, err error) {
	read, send, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	receive, write, err := os.Pipe()
	if err != nil {
		closeAll([]*os.File{read, send})
		return nil, nil, err
	}
	return []*os.File{read, write}, []*os.File{send, receive}, nil
}

// program returns the path of the keeper's program. A program with the rights of
// another user or group must not be started in the background by whoever may run
// it.
func (o *opener) program() (string, error) {
	if os.Getenv(envMark) != "" {
		return "", xerrors.Errorf("this program was started as a keeper, and calls prockeep.Open before prockeep.Main: %w", procmgr.ErrInvalid)
	}
	path, err := o.options.Path, error(nil)
	if path == "" {
		if !called.Load() {
			return "", xerrors.Errorf("this program has not called prockeep.Main, so it cannot be started again as a keeper: call it first in main (in a test, in TestMain), or set Options.Path: %w", procmgr.ErrInvalid)
		}
		path, err = self()
	} else {
		path, err = exec.LookPath(path)
	}
	if err != nil {
		return "", xerrors.Errorf("the keeper's program cannot be found: %w", err)
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return "", xerrors.Errorf("the keeper's program cannot be found: %w", err)
	case os.Getuid() != os.Geteuid() || os.Getgid() != os.Getegid(), info.Mode()&(fs.ModeSetuid|fs.ModeSetgid) != 0:
		return "", xerrors.Errorf("%s runs with the rights of its owner (setuid or setgid), and is not started as a keeper: %w", path, procmgr.ErrInvalid)
	}
	return path, nil
}

// lastWords returns the last line that a program has written to the log, as a
// part of a sentence.
func lastWords(log *os.File, from int64) string {
	const most = 200
	info, err := log.Stat()
	if err != nil {
		return ""
	}
	from = max(from, info.Size()-most)
	text, err := io.ReadAll(io.NewSectionReader(log, from, most))
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
		return " (its last words: " + strings.ToValidUTF8(last, "\uFFFD") + ")"
	}
	return ""
}
