package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A place says which keeper to use.
type place struct {
	dir  *string
	idle *time.Duration
}

// placeFlags adds the flags of a place.
func placeFlags(flags *flag.FlagSet) place {
	return place{
		dir: flags.String("dir", "", "`directory` of the keeper; $XDG_STATE_HOME/toolproc, else ~/.local/state/toolproc"),
		// Clients come back after a night, and ask what has become of their
		// processes.
		idle: flags.Duration("idle", 24*time.Hour, "how long a keeper that is started stays when nothing runs and nobody asks"),
	}
}

// path returns the directory. It leads to the same one from a login shell and
// from ssh, docker exec and the like, which set fewer variables.
func (p place) path() (string, error) {
	if *p.dir != "" {
		return *p.dir, nil
	}
	if state := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(state) { // any other is to be ignored
		return filepath.Join(state, "toolproc"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", xerrors.Errorf("set -dir, the directory of the keeper: %w", err)
	}
	return filepath.Join(home, ".local", "state", "toolproc"), nil
}

// open opens the keeper, and lets this program take over from it if replace is set. Each
// process has a log, so that logs has all of a long output, and a model can search it. A
// nil log logs nothing. A keeper that runs already must have the sandbox of the rules, or
// none if they ask for none.
func (p place) open(ctx context.Context, log *slog.Logger, rules rules, replace bool) (*prockeep.Host, error) {
	dir, err := p.path()
	if err != nil {
		return nil, err
	}
	box, unbox, err := rules.open()
	if err != nil {
		return nil, err
	}
	defer func() { _ = unbox() }() // the keeper has one of its own
	k, err := prockeep.Open(ctx, dir, &prockeep.Options{
		Local:   proclocal.Options{LogDir: filepath.Join(dir, "logs"), Sandbox: box},
		Replace: replace,
		Idle:    *p.idle,
		Logger:  log,
	})
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return nil, xerrors.Errorf("there is no keeper on this system: %w", err)
	case errors.Is(err, procmgr.ErrConflict): // nothing but the sandbox has to agree
		return nil, xerrors.Errorf("the keeper of %s runs with another sandbox or none: use the same flags, let another one take over with toolprocd upgrade and these flags, or name another directory with -dir", dir)
	case err != nil && *p.dir == "":
		return nil, xerrors.Errorf("the keeper of %s cannot be used (-dir names another directory): %w", dir, err)
	}
	return k, err
}

// use finds the keepers for a call. If none runs, it calls none instead. The call's
// context ends when a signal asks this program to end.
func (p place) use(call func(ctx context.Context, k *prockeep.Host) error, none func() error) error {
	ctx, stop := untilAsked()
	defer stop()
	dir, err := p.path()
	if err != nil {
		return err
	}
	k, err := prockeep.Find(ctx, dir)
	switch {
	case errors.Is(err, errors.ErrUnsupported):
		return xerrors.Errorf("there is no keeper on this system: %w", err)
	case errors.Is(err, procmgr.ErrNotFound):
		return none()
	case err != nil:
		return err
	}
	defer leave(k)
	return call(ctx, k)
}

// leave closes the connections to a keeper, which goes on.
func leave(k *prockeep.Host) { _ = k.Close() } // this program is about to end

// find returns the manager that has a process, and the process. A chat that is
// named finds only its own.
func find(ctx context.Context, k *prockeep.Host, chat, id string) (procmgr.Manager, procmgr.Output, error) {
	var m procmgr.Manager = k
	if chat != "" {
		m = k.Chat(chat)
	}
	out, err := m.Output(ctx, id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 1}})
	switch {
	case errors.Is(err, procmgr.ErrUnknown): // it says more
	case errors.Is(err, procmgr.ErrNotFound):
		return nil, out, noProcess(chat, id)
	case errors.Is(err, procmgr.ErrConflict):
		return nil, out, xerrors.Errorf("several chats have a process %s; name the chat with -chat%s", id, chatsOf(ctx, k, id))
	}
	return m, out, err
}

func noProcess(chat, id string) error {
	return xerrors.Errorf("there is no process %s%s; toolprocd ps -a shows all", id, inChat(chat))
}

func inChat(chat string) string {
	if chat == "" {
		return ""
	}
	return fmt.Sprintf(" in the chat %s", word(chat))
}

// chatsOf says which chats have a process with an ID.
func chatsOf(ctx context.Context, k *prockeep.Host, id string) string {
	page, err := k.List(ctx, procmgr.ListRequest{})
	if err != nil {
		return ""
	}
	var chats []string
	for _, p := range page.Processes {
		if p.ID == id && p.ChatID != "" {
			chats = append(chats, word(p.ChatID))
		}
	}
	if len(chats) == 0 {
		return ""
	}
	slices.Sort(chats)
	return ": " + strings.Join(chats, ", ")
}

// word returns a text as a word of a shell's command line. A text that a shell
// takes as it is stays as it is.
func word(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("@%+=:,./_-", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
