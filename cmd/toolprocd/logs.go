package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"iter"
	"os"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
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
	toEnd := flags.Bool("f", false, "go on until the process has exited; Ctrl-C ends only this")
	words, err := parse(flags, args, 1, 1)
	if err != nil {
		return err
	}
	return at.use(func(ctx context.Context, k *prockeep.Host) error {
		m, now, err := find(ctx, k, *chat, words[0])
		if err != nil {
			return err
		}
		to := &printer{out: os.Stdout, terminal: isTerminal(os.Stdout)}
		if !*toEnd {
			return to.printUntil(ctx, m, now)
		}
		return to.printToEnd(ctx, m, words[0])
	}, func() error { return noProcess(*chat, words[0]) })
}

// follow is procmgr.Follow, but the first error does not end it: if the keeper has
// died, the next call tells what has become of the process.
func follow(ctx context.Context, m procmgr.Manager, id string) iter.Seq2[procmgr.Chunk, error] {
	return func(yield func(procmgr.Chunk, error) bool) {
		opts := procmgr.FollowOptions{Limit: chunk, Every: pause}
		for progress, over := false, false; !over; progress = false {
			over = true // unless reading fails after some progress
			for c, err := range procmgr.Follow(ctx, m, id, &opts) {
				if over = err == nil || !progress || ctx.Err() != nil; !over {
					break
				}
				if !yield(c, err) {
					return
				}
				progress, opts.From = true, c.Next
			}
		}
	}
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
		why := ""
		if c.Process.LogError != "" {
			why = "; the log: " + c.Process.LogError
		}
		fmt.Fprintf(os.Stderr, "toolprocd: %d bytes of the output are lost here%s\n", c.Gap, why)
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
		room := most + 1 - utf8.RuneCountInString(p.begun)
		if at := strings.LastIndexAny(c.Live, "\r\n"); at >= 0 { // its newest state replaces the line
			room, c.Live = most, c.Live[at+1:]
			b.WriteString("\r\x1b[K")
		}
		p.live = oneLine(c.Live, room)
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
	if now.Next == 0 && now.Live == "" {
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

// printToEnd prints an output until the process has exited.
func (p *printer) printToEnd(ctx context.Context, m procmgr.Manager, id string) error {
	for c, err := range follow(ctx, m, id) {
		if err == nil {
			err = p.print(c)
		}
		if err != nil && ctx.Err() != nil {
			p.end()
			fmt.Fprintf(os.Stderr, "toolprocd: %s goes on\n", id)
			return exit(codeInterrupted)
		}
		if errors.Is(err, procmgr.ErrNotFound) { // it was there
			return xerrors.Errorf("the keeper has ended, and what has become of %s is not known", id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
