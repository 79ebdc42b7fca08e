package procfile

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/contrib/filetool/internal/callerr"
	"github.com/toolproc/toolproc/contrib/filetool/internal/edits"
	"github.com/toolproc/toolproc/procmgr"
)

// Edit implements [Files]. If this program or the machine ends between the renames of
// several files, some of them have their edits and others not.
func (l *Local) Edit(ctx context.Context, req EditRequest) (res EditResult, err error) {
	err = l.change(ctx, func(c *change) error {
		res, err = c.edit(ctx, req)
		return err
	})
	return res, callerr.In("procfile", "edit", "", err)
}

// A fileEdit is one file of an Edit.
type fileEdit struct {
	place
	version string
	edits   []Edit
	old     *content
	before  string // its text, before and after
	after   string
	changed []span // of after
	places  int
}

func (c *change) edit(ctx context.Context, req EditRequest) (res EditResult, err error) {
	if len(req.Files) == 0 {
		return res, xerrors.Errorf("there are no files to edit: %w", procmgr.ErrInvalid)
	}
	all, err := c.l.edited(req)
	if err != nil {
		return res, err
	}
	var places []place
	for _, e := range all {
		places = append(places, e.place)
	}
	if err := c.lock(ctx, places...); err != nil {
		return res, err
	}
	set := c.l.secrets()
	for _, e := range all {
		if err := c.apply(ctx, e, set); err != nil {
			return res, err
		}
	}
	room := MaxText
	for _, e := range all {
		data := e.old.Encoding.encode(e.after)
		if err := c.stage(ctx, e.place, e.old, data); err != nil {
			return res, err
		}
		f := EditedFile{FileInfo: describe(e.path, data), Hunks: []Hunk{}, Places: e.places, Lost: e.old.lost}
		text := []byte(e.after)
		for _, lines := range changedLines(e.after, e.changed) {
			f.hunk(text, lines, set, &room)
		}
		res.Files = append(res.Files, f)
	}
	return res, c.commit(ctx)
}

// edited returns the files of a request, each once.
func (l *Local) edited(req EditRequest) (all []*fileEdit, err error) {
	for _, f := range req.Files {
		p, err := l.existing(f.Path)
		if err != nil {
			return nil, err
		}
		if len(f.Edits) == 0 {
			return nil, xerrors.Errorf("there are no edits for %s: %w", p.path, procmgr.ErrInvalid)
		}
		i := slices.IndexFunc(all, func(e *fileEdit) bool { return e.path == p.path })
		if i < 0 {
			all = append(all, &fileEdit{place: p, version: f.Version, edits: slices.Clone(f.Edits)})
			continue
		}
		e := all[i]
		if f.Version != "" && e.version != "" && f.Version != e.version {
			return nil, xerrors.Errorf("%s is there twice, with two versions: %w", p.path, procmgr.ErrInvalid)
		}
		e.version, e.edits = max(e.version, f.Version), append(e.edits, f.Edits...)
	}
	return all, nil
}

// apply makes the edits of a file in memory.
func (c *change) apply(ctx context.Context, e *fileEdit, set secrets) (err error) {
	if e.old, err = c.current(ctx, e.place); err != nil {
		return err
	}
	switch {
	case e.old == nil:
		return missing(e.place)
	case e.old.data == nil:
		return xerrors.Errorf("%s has %d bytes, and a file of over %d cannot be edited; use a command, such as sed -i: %w", e.path, e.old.info.Size(), MaxEdit, procmgr.ErrLimit)
	}
	if err := e.old.is(e.path, e.version); err != nil {
		return err
	}
	if isBinary(e.old.data[:min(len(e.old.data), headSize)]) {
		return errBinary(e.path, e.old.info.Size())
	}
	e.before = e.old.text()
	e.after = e.before
	for i, edit := range e.edits {
		if err := ctx.Err(); err != nil {
			return err
		}
		done, err := edits.Make(e.after, edits.Edit(edit), set.mask)
		if err == nil && done.Text == e.after {
			err = xerrors.Errorf("it would change nothing, replace is there already: %w", procmgr.ErrInvalid)
		}
		if err != nil {
			which := ""
			if len(e.edits) > 1 {
				which = fmt.Sprintf(", edit %d of %d", i+1, len(e.edits))
			}
			return xerrors.Errorf("%s%s: %w", e.path, which, err)
		}
		e.places += done.Places
		e.after, e.changed = done.Text, moved(e.changed, done.Changes)
	}
	if e.after == e.before {
		return xerrors.Errorf("%s: the edits together would change nothing: %w", e.path, procmgr.ErrInvalid)
	}
	return set.checkMarkers(e.before, e.after)
}

// around is how many lines of context a hunk has before and after the changed lines.
const around = 2

// hunk adds some lines of a file that was edited. They take at most room bytes, and room is
// what is left then.
func (f *EditedFile) hunk(after []byte, c span, set secrets, room *int) {
	w := newWindow(int64(c.from)+1, c.to-c.from, set)
	w.take(after)
	lines, redacted, _ := w.lines()
	shown := 0
	for i, line := range lines {
		if *room -= len(line.Text) + cost(w.from+int64(i)); *room < 0 {
			break
		}
		shown++
	}
	f.Omitted += w.limit - shown
	if shown > 0 {
		f.Hunks = append(f.Hunks, Hunk{From: w.from, Lines: lines[:shown]})
	}
	for _, name := range redacted {
		if !slices.Contains(f.Redacted, name) {
			f.Redacted = append(f.Redacted, name)
		}
	}
}

// A span is a part of a text in bytes, or some lines of it, from 0 on.
type span struct{ from, to int }

// moved returns the changed parts of a text after one more edit: what the edits before have
// changed, where it is now, and what this one has. They are in order, and no two touch.
func moved(before []span, changes []edits.Change) []span {
	where := func(at int) int {
		i := sort.Search(len(changes), func(i int) bool { return changes[i].To > at }) // the first that does not end before it
		switch {
		case i < len(changes) && changes[i].From < at: // within it
			return changes[i].Start
		case i > 0:
			return changes[i-1].End + at - changes[i-1].To
		}
		return at
	}
	all := make([]span, 0, len(before)+len(changes))
	for _, s := range before {
		all = append(all, span{where(s.from), where(s.to)})
	}
	for _, c := range changes {
		all = append(all, span{c.Start, c.End})
	}
	slices.SortFunc(all, func(a, b span) int { return cmp.Compare(a.from, b.from) })
	return joined(all)
}

// joined merges spans that touch. They are sorted.
func joined(spans []span) []span {
	all := spans[:0]
	for _, s := range spans {
		if n := len(all); n > 0 && s.from <= all[n-1].to {
			all[n-1].to = max(all[n-1].to, s.to)
			continue
		}
		all = append(all, s)
	}
	return all
}

// changedLines returns the lines of a text that have changed, and two around them. If lines
// have gone, the one behind them counts.
func changedLines(text string, changed []span) []span {
	total := strings.Count(text, "\n")
	if text != "" && !strings.HasSuffix(text, "\n") {
		total++
	}
	var all []span
	line, at := 0, 0
	for _, c := range changed {
		line += strings.Count(text[at:c.from], "\n")
		at = c.from
		next := line + 1 + strings.Count(strings.TrimSuffix(text[c.from:c.to], "\n"), "\n")
		if from, to := max(line-around, 0), min(next+around, total); to > from {
			all = append(all, span{from, to})
		}
	}
	return joined(all)
}
