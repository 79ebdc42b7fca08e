package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// run starts a command in the keeper, where it outlives this program and its terminal, and
// prints the ID of the process.
func run(flags *flag.FlagSet, args []string) error {
	at, rules := placeFlags(flags), ruleFlags(flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() == 0 {
		return errors.New("the command is missing, as in: toolprocd run make test")
	}
	ctx, stop := untilAsked()
	defer stop()
	k, err := at.open(ctx, nil, rules, false)
	if err != nil {
		return err
	}
	defer leave(k)
	stop() // a start that is cut off may have run, so a signal ends this program without a word
	out, err := k.Start(context.Background(), procmgr.StartRequest{Command: commandLine(flags.Args())})
	if err == nil {
		fmt.Println(out.Process.ID)
	}
	return err
}

// plain matches a word that a shell takes as it is.
var plain = regexp.MustCompile(`^[a-zA-Z0-9@%+=:,./_-]+$`)

// commandLine makes a shell's command line of words. One word is a command line;
// several are a program and its arguments, and no shell changes them.
func commandLine(words []string) string {
	if len(words) == 1 {
		return words[0]
	}
	quoted := make([]string, len(words))
	for i, w := range words {
		if quoted[i] = w; !plain.MatchString(w) {
			quoted[i] = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
	}
	return strings.Join(quoted, " ")
}

// logs prints the output of a process, as much of it as is there, or to its end.
func logs(flags *flag.FlagSet, args []string) error {
	at, chat := placeFlags(flags), chatFlag(flags)
	toEnd := flags.Bool("f", false, "go on until the process has exited, and exit with its code; Ctrl-C ends only this")
	words, err := parse(flags, args, 1, 1)
	if err != nil {
		return err
	}
	id := words[0]
	return at.use(func(ctx context.Context, k *prockeep.Host) error {
		m, now, err := find(ctx, k, *chat, id)
		if err != nil || !*toEnd && now.Next == 0 && now.Live == "" {
			return err
		}
		var p procmgr.Process
		// Large chunks save calls if the process prints little by little.
		for c, err := range procmgr.Follow(ctx, m, id, &procmgr.FollowOptions{Limit: 256 << 10, Every: 10 * time.Millisecond}) {
			last := !*toEnd && c.Next >= now.Next
			if last {
				c.Text += c.Live
			}
			if err == nil {
				err = printChunk(c)
			}
			if err != nil || last {
				return err
			}
			p = c.Process
		}
		if !*toEnd {
			return nil
		}
		if p.ExitCode == nil {
			return xerrors.Errorf("it is not known how %s has ended", id)
		}
		if *p.ExitCode != 0 && len(now.Withheld) > 0 {
			fmt.Fprintf(os.Stderr, "toolprocd: the command did not get %s, because they may be secrets\n", strings.Join(now.Withheld, ", "))
		}
		return exit(*p.ExitCode)
	})
}

func printChunk(c procmgr.Chunk) error {
	if c.Gap > 0 {
		why := ""
		if c.Process.LogError != "" {
			why = "; the log: " + c.Process.LogError
		}
		fmt.Fprintf(os.Stderr, "toolprocd: %d bytes of the output are lost here%s\n", c.Gap, why)
	}
	_, err := io.WriteString(os.Stdout, c.Text)
	return err
}
