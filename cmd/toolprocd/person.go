package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// chatFlag adds the flag that names a chat.
func chatFlag(flags *flag.FlagSet) *string {
	return flags.String("chat", "", "`chat` of the process, if several have its ID")
}

// ps prints a table of processes, the oldest first.
func ps(flags *flag.FlagSet, args []string) error {
	at, all := placeFlags(flags), flags.Bool("a", false, "show also what has ended")
	if _, err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	show := func(list []procmgr.Process) error {
		if !*all {
			list = slices.DeleteFunc(list, func(p procmgr.Process) bool { return p.State == procmgr.Exited })
		}
		if err := printTable(os.Stdout, list); err != nil || len(list) > 0 {
			return err
		}
		dir, _ := at.path() // use has used it
		fmt.Fprintf(os.Stderr, "nothing runs in the keeper of %s\n", dir)
		return nil
	}
	return at.use(func(ctx context.Context, k *prockeep.Host) error {
		page, err := k.List(ctx, procmgr.ListRequest{})
		if err != nil {
			return err
		}
		return show(page.Processes)
	}, func() error { return show(nil) })
}

// printTable prints processes, the oldest first.
func printTable(to io.Writer, list []procmgr.Process) error {
	slices.SortFunc(list, func(a, b procmgr.Process) int { return a.StartedAt.Compare(b.StartedAt) })
	rows := []byte("ID\tCHAT\tSTATE\tPID\tELAPSED\tCOMMAND\n")
	for _, p := range list {
		chat := "-"
		if p.ChatID != "" {
			chat = oneLine(p.ChatID, 24)
		}
		rows = fmt.Appendf(rows, "%s\t%s\t%s\t%d\t%s\t%s\n", p.ID, chat, state(p), p.PID, age(p.Elapsed), oneLine(p.Command, 100))
	}
	table := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	if _, err := table.Write(rows); err != nil {
		return err
	}
	return table.Flush()
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

// age is a duration in its largest unit.
func age(d time.Duration) string {
	const day = 24 * time.Hour
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{{day, "d"}, {time.Hour, "h"}, {time.Minute, "m"}} {
		if d >= 2*unit.length {
			return fmt.Sprintf("%d%s", d/unit.length, unit.name)
		}
	}
	return fmt.Sprintf("%ds", max(d, 0)/time.Second)
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

// asToKill is a signal as it is given to kill(1), such as -9, -KILL or -SIGKILL.
var asToKill = regexp.MustCompile(`^-([0-9]+|(SIG)?(TERM|INT|KILL|HUP|QUIT|STOP|CONT|USR[12]))$`)

// withSignal turns that into -s KILL.
func withSignal(args []string) []string {
	at := slices.IndexFunc(args, func(arg string) bool { return arg == "--" || asToKill.MatchString(arg) })
	if at < 0 || args[at] == "--" {
		return args
	}
	return slices.Concat(args[:at], []string{"-s", args[at][1:]}, args[at+1:])
}

// signals are the names by which people call the three signals.
var signals = map[string]procmgr.Signal{
	"TERM": procmgr.Terminate, "TERMINATE": procmgr.Terminate, "15": procmgr.Terminate,
	"INT": procmgr.Interrupt, "INTERRUPT": procmgr.Interrupt, "2": procmgr.Interrupt,
	"KILL": procmgr.Kill, "9": procmgr.Kill,
}

// kill sends a signal to processes.
func kill(flags *flag.FlagSet, args []string) error {
	at, chat := placeFlags(flags), chatFlag(flags)
	name := flags.String("s", "TERM", "`signal`: TERM, INT or KILL")
	ids, err := parse(flags, withSignal(args), 1, -1)
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
	}, func() (failed error) {
		for _, id := range ids {
			failed = errors.Join(failed, noProcess(*chat, id))
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
	return at.use(func(ctx context.Context, _ *prockeep.Host) error {
		k, err := at.open(ctx, nil, *rules, true)
		if err == nil {
			leave(k)
		}
		return err
	}, func() error { return errors.New("no keeper runs; the next one is this program") })
}

// stop ends the keeper. It does not end processes without being told to.
func stop(flags *flag.FlagSet, args []string) error {
	at, force := placeFlags(flags), flags.Bool("f", false, "end also the processes that live")
	if _, err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	return at.use(func(ctx context.Context, k *prockeep.Host) error {
		switch n, err := living(ctx, k); {
		case err != nil:
			return err
		case n > 0 && !*force:
			return xerrors.Errorf("this would end what lives, %d in number: see toolprocd ps, or use toolprocd stop -f", n)
		}
		return k.Stop(ctx)
	}, func() error { return nil })
}

// living counts the processes that live.
func living(ctx context.Context, m procmgr.Manager) (int, error) {
	page, err := m.List(ctx, procmgr.ListRequest{Limit: 1})
	return page.Live, err
}
