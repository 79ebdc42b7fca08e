package filetool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/internal/linematch"
	"github.com/toolproc/toolproc/procmgr/procfile"
)

// mostDiffering is how many lines of a difference a result has.
const mostDiffering = 200

// changed returns the result of a call that was refused because a file has changed
// since. It shows what has changed in the lines that the model has seen. After that the
// model knows the file as it is, and the same call again is done.
func (s *Set) changed(ctx context.Context, asked []string, undone string, err error) report {
	var b strings.Builder
	rep := refuse("%s: %s", undone, wording.Clip(procfile.Reason(err), wording.MaxWords))
	some := false
	for _, name := range asked {
		path, before, known, _ := s.memory.of(name)
		if !known {
			continue
		}
		now, rerr := s.files.Read(ctx, procfile.ReadRequest{Path: path, Limit: 1})
		if errors.Is(rerr, fs.ErrNotExist) {
			s.memory.forget(path)
			rep.add("To make it anew, make the call again")
		}
		if rerr != nil || now.Version == before.version {
			continue
		}
		some = true
		fmt.Fprintf(&b, "%s\n", wording.OneLine(path))
		shown := 0
		var seen []procfile.Hunk
		for _, h := range before.seen {
			// Lines may have been added or removed within the part, or before it.
			res, rerr := s.files.Read(ctx, procfile.ReadRequest{Path: path, Offset: min(h.From, max(now.Total, 1)), Limit: len(h.Lines) + mostDiffering})
			if rerr != nil || len(h.Lines) == 0 {
				continue
			}
			n := difference(&b, h, procfile.Hunk{From: res.From, Lines: res.Lines})
			shown += n
			seen = append(seen, procfile.Hunk{From: res.From, Lines: res.Lines[:min(len(h.Lines), len(res.Lines))]})
			rep.add(wording.Masked(res.Redacted))
		}
		if shown == 0 {
			b.WriteString("(the lines that you have seen are the same)\n")
		}
		s.memory.saw(name, path, now.Version, seen)
	}
	if !some {
		return rep
	}
	rep.Error = undone + ": a file has changed since you read it"
	text := b.String()
	rep.Output, rep.budget = &text, s.opts.allow(0)
	rep.fit = func(r *report) {
		short := text[:min(len(text), max(r.budget.bytes/2, least))]
		short = short[:strings.LastIndexByte(short, '\n')+1]
		r.Output = &short
		r.add("The rest of the difference is left out; read the file again")
	}
	rep.add("output has what differs now: - is a line that you have seen, + a line that is there now. If the call is still right, make it again")
	return rep
}

// difference writes the lines that differ, and returns how many it has written. Lines
// of now behind all that before has count for nothing.
func difference(b *strings.Builder, before, now procfile.Hunk) (n int) {
	write := func(sign string, number int64, line procfile.Line) {
		if n++; n <= mostDiffering {
			b.WriteString(sign + lines(number, []procfile.Line{line}))
		}
	}
	i, j := 0, 0
	upTo := func(toI, toJ int) {
		for ; i < toI; i++ {
			write("-", before.From+int64(i), before.Lines[i])
		}
		for ; j < toJ; j++ {
			write("+", now.From+int64(j), now.Lines[j])
		}
	}
	for _, both := range linematch.Pairs(before.Lines, now.Lines) {
		upTo(int(both[0]), int(both[1]))
		i, j = i+1, j+1
	}
	upTo(len(before.Lines), min(len(now.Lines), j+len(before.Lines)-i))
	if n > mostDiffering {
		fmt.Fprintf(b, "(%d lines more differ)\n", n-mostDiffering)
	}
	return n
}
