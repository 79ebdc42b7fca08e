package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolproc/toolproc/procmgr"
)

const (
	// chunk is how many bytes are read of an output at a time.
	chunk = 256 << 10
	// pause is the shortest time between two chunks. It saves calls if a command
	// prints little by little.
	pause = 10 * time.Millisecond
	// codeInterrupted is the exit code of a program that Ctrl-C has ended.
	codeInterrupted = 130
)

// logs prints the output of a process, as much of it as is there, or to its end.
func logs(flags *flag.FlagSet, args []string) error {
	at, chat := placeFlags(flags), chatFlag(flags)
	follow := flags.Bool("f", false, "go on until the process has exited; Ctrl-C ends only this")
	words, err := parse(flags, args, 1, 1)
	if err != nil {
		return err
	}
	ctx, stop := untilAsked()
	defer stop()
	k, err := at.open(ctx)
	if err != nil {
		return err
	}
	defer k.Close()
	id := words[0]
	m, now, err := find(ctx, k, *chat, id)
	if err != nil {
		return err
	}
	to := &printer{out: os.Stdout, terminal: isTerminal(os.Stdout)}
	if !*follow {
		return to.printUntil(ctx, m, now)
	}
	for c, err := range procmgr.Follow(ctx, m, id, &procmgr.FollowOptions{Limit: chunk, Every: pause}) {
		if err == nil {
			err = to.print(c)
		}
		if err != nil && ctx.Err() != nil {
			to.end()
			fmt.Fprintf(os.Stderr, "toolprocd: %s goes on\n", id)
			return exit(codeInterrupted)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isTerminal reports whether a person is at the other end of a file.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// A printer prints the output of a process.
type printer struct {
	out      io.Writer
	terminal bool
	begun    string // the line that has begun, if it is short
	live     string // what stands behind it on the terminal, and will be replaced
}

// print prints a chunk. On a terminal, a line that the process is still
// redrawing is redrawn, too.
func (p *printer) print(c procmgr.Chunk) error {
	const most = 72 // a line that is wrapped cannot be replaced
	var b strings.Builder
	if p.live != "" {
		b.WriteString("\r\x1b[K" + p.begun)
		p.live = ""
	}
	if c.Gap > 0 {
		fmt.Fprintf(os.Stderr, "toolprocd: %d bytes of the output are lost\n", c.Gap)
	}
	b.WriteString(c.Text)
	if at := strings.LastIndexByte(c.Text, '\n'); at >= 0 {
		p.begun = c.Text[at+1:]
	} else {
		p.begun += c.Text
	}
	if len(p.begun) > most {
		p.begun = p.begun[len(p.begun)-most-1:] // too long, and it stays so until it ends
	}
	if p.terminal && c.Live != "" && len(p.begun) <= most {
		p.live = oneLine(c.Live, most-utf8.RuneCountInString(p.begun)+1)
		b.WriteString(p.live)
	}
	_, err := io.WriteString(p.out, b.String())
	return err
}

// end begins a new line on a terminal.
func (p *printer) end() {
	if p.terminal && p.live+p.begun != "" {
		_, _ = io.WriteString(p.out, "\n")
	}
}

// printUntil prints what there is of an output now.
func (p *printer) printUntil(ctx context.Context, m procmgr.Manager, now procmgr.Output) error {
	if now.Next == 0 && now.LiveBytes == 0 {
		return nil
	}
	for c, err := range procmgr.Follow(ctx, m, now.Process.ID, &procmgr.FollowOptions{Limit: chunk, Every: -1}) {
		if err != nil {
			return err
		}
		last := c.Next >= now.Next
		if last && !p.terminal {
			c.Text += c.Live
		}
		if err := p.print(c); err != nil {
			return err
		}
		if last {
			break
		}
	}
	p.end()
	return nil
}
