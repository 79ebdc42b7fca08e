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
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

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
func (p place) open(ctx context.Context, log *slog.Logger, rules *rules, replace bool) (*prockeep.Host, error) {
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
	if errors.Is(err, procmgr.ErrConflict) { // nothing but the sandbox has to agree
		return nil, xerrors.Errorf("the keeper of %s runs with another sandbox or none: use the same flags, let another one take over with toolprocd upgrade and these flags, or name another directory with -dir", dir)
	}
	return k, err
}

// use finds the keepers for a call, which gets nil if none runs. The call's context ends
// when a signal asks this program to end.
func (p place) use(call func(ctx context.Context, k *prockeep.Host) error) error {
	ctx, stop := untilAsked()
	defer stop()
	dir, err := p.path()
	if err != nil {
		return err
	}
	k, err := prockeep.Find(ctx, dir)
	switch {
	case errors.Is(err, procmgr.ErrNotFound):
		return call(ctx, nil)
	case err != nil:
		return err
	}
	defer leave(k)
	return call(ctx, k)
}

// leave closes the connections to a keeper, which goes on.
func leave(k *prockeep.Host) { _ = k.Close() } // this program is about to end

// chatFlag adds the flag that names a chat.
func chatFlag(flags *flag.FlagSet) *string {
	return flags.String("chat", "", "`chat` of the process, if several have its ID")
}

// find returns the manager that has a process, and the process. A chat that is
// named finds only its own. k may be nil.
func find(ctx context.Context, k *prockeep.Host, chat, id string) (m procmgr.Manager, out procmgr.Output, err error) {
	switch {
	case k == nil:
		err = procmgr.ErrNotFound
	case chat == "":
		m = k
	default:
		m = k.Chat(chat)
	}
	if m != nil {
		out, err = m.Output(ctx, id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 1}})
	}
	switch {
	case errors.Is(err, procmgr.ErrUnknown): // it says more
	case errors.Is(err, procmgr.ErrNotFound):
		err = xerrors.Errorf("there is no process %s; toolprocd ps -a shows all", id)
	case errors.Is(err, procmgr.ErrConflict):
		err = xerrors.Errorf("several chats have a process %s; name the chat with -chat; toolprocd ps -a shows all", id)
	}
	return m, out, err
}

// ps prints a table of processes, the oldest first.
func ps(flags *flag.FlagSet, args []string) error {
	at, all := placeFlags(flags), flags.Bool("a", false, "show also what has ended")
	if _, err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	return at.use(func(ctx context.Context, k *prockeep.Host) error {
		var page procmgr.ListPage
		if k != nil {
			var err error
			if page, err = k.List(ctx, procmgr.ListRequest{}); err != nil {
				return err
			}
		}
		list := slices.DeleteFunc(page.Processes, func(p procmgr.Process) bool { return p.State == procmgr.Exited && !*all })
		slices.SortFunc(list, func(a, b procmgr.Process) int { return a.StartedAt.Compare(b.StartedAt) })
		table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
		_, _ = fmt.Fprintln(table, "ID\tCHAT\tSTATE\tPID\tELAPSED\tCOMMAND")
		for _, p := range list {
			chat := "-"
			if p.ChatID != "" {
				chat = oneLine(p.ChatID, 24)
			}
			_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\n", p.ID, chat, state(p), p.PID, p.Elapsed.Truncate(time.Second), oneLine(p.Command, 100))
		}
		if err := table.Flush(); err != nil || len(list) > 0 {
			return err
		}
		dir, _ := at.path() // use has used it
		fmt.Fprintf(os.Stderr, "nothing runs in the keeper of %s\n", dir)
		return nil
	})
}

// state says how a process is, or how it has ended.
func state(p procmgr.Process) string {
	code := "?"
	if p.ExitCode != nil {
		code = strconv.Itoa(*p.ExitCode)
	}
	switch {
	case p.Waiting != nil:
		return "waiting for input"
	case p.State != procmgr.Exited:
		return string(p.State)
	case p.Signal != "":
		return fmt.Sprintf("exited %s (%s)", code, p.Signal)
	}
	return "exited " + code
}

// oneLine is a text without anything that would move the cursor of a terminal.
func oneLine(s string, most int) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return unicode.ReplacementChar
		}
		return r
	}, s)
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return s
}

// signals have the names of kill(1).
var signals = map[string]procmgr.Signal{"TERM": procmgr.Terminate, "INT": procmgr.Interrupt, "KILL": procmgr.Kill}

// kill sends a signal to processes.
func kill(flags *flag.FlagSet, args []string) error {
	at, chat := placeFlags(flags), chatFlag(flags)
	name := flags.String("s", "TERM", "`signal`: TERM, INT or KILL")
	ids, err := parse(flags, args, 1, -1)
	if err != nil {
		return err
	}
	sig, ok := signals[strings.TrimPrefix(strings.ToUpper(*name), "SIG")]
	if !ok {
		return xerrors.Errorf("there is no signal %q; there are TERM, INT and KILL", *name)
	}
	return at.use(func(ctx context.Context, k *prockeep.Host) (failed error) {
		for _, id := range ids {
			// A signal to an unused ID would spend the ID.
			m, out, err := find(ctx, k, *chat, id)
			if err == nil {
				err = m.Signal(ctx, id, sig)
			}
			if errors.Is(err, procmgr.ErrNotRunning) {
				err = xerrors.Errorf("%s has ended already (%s)", id, state(out.Process))
			}
			failed = errors.Join(failed, err)
		}
		return failed
	})
}

// upgrade lets a keeper of this program take over. The earlier one ends when what it runs
// has ended.
func upgrade(flags *flag.FlagSet, args []string) error {
	at, rules := placeFlags(flags), ruleFlags(flags)
	if _, err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	return at.use(func(ctx context.Context, k *prockeep.Host) error {
		if k == nil {
			return errors.New("no keeper runs; the next one is this program")
		}
		k, err := at.open(ctx, nil, rules, true)
		if err == nil {
			leave(k)
		}
		return err
	})
}

// stop ends the keeper. It does not end processes without being told to.
func stop(flags *flag.FlagSet, args []string) error {
	at, force := placeFlags(flags), flags.Bool("f", false, "end also the processes that live")
	if _, err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	return at.use(func(ctx context.Context, k *prockeep.Host) error {
		if k == nil {
			return nil
		}
		switch page, err := k.List(ctx, procmgr.ListRequest{Limit: 1}); {
		case err != nil:
			return err
		case page.Live > 0 && !*force:
			return xerrors.Errorf("this would end what lives, %d in number: see toolprocd ps, or use toolprocd stop -f", page.Live)
		}
		return k.Stop(ctx)
	})
}
