package procfile

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/contrib/filetool/internal/callerr"
	"github.com/toolproc/toolproc/contrib/filetool/internal/edits"
	"github.com/toolproc/toolproc/contrib/filetool/internal/pairs"
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
	places  int
	loose   bool
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
		f := EditedFile{FileInfo: describe(e.path, data), Hunks: []Hunk{}, Places: e.places, Loose: e.loose, Lost: e.old.lost}
		f.show(e.before, e.after, set, &room)
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
		e.loose = e.loose || done.Loose
		e.after = done.Text
	}
	if e.after == e.before {
		return xerrors.Errorf("%s: the edits together would change nothing: %w", e.path, procmgr.ErrInvalid)
	}
	return set.checkMarkers(e.before, e.after)
}

// around is how many lines of context a hunk has before and after the changed lines.
const around = 2

// show adds the hunks of a file that was edited. They take at most room bytes, and
// room is what is left then.
func (f *EditedFile) show(before, after string, set secrets, room *int) {
	text := []byte(after)
	for _, c := range changes(before, after) {
		f.hunk(text, c, set, room)
	}
}

func (f *EditedFile) hunk(after []byte, c span, set secrets, room *int) {
	w := newWindow(int64(c.from)+1, c.to-c.from, set)
	if w.limit == 0 {
		return
	}
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

// A span is some lines, from 0 on.
type span struct{ from, to int }

// changes returns the lines of a text that differ from those before, and two around
// them. Spans that touch are one. If lines have gone, those around their place count.
func changes(before, after string) (all []span) {
	a, b := slices.Collect(strings.Lines(before)), slices.Collect(strings.Lines(after))
	add := func(from, to int) {
		from, to = max(from-around, 0), min(to+around, len(b))
		if n := len(all); n > 0 && from <= all[n-1].to {
			all[n-1].to = max(all[n-1].to, to)
			return
		}
		if to > from {
			all = append(all, span{from, to})
		}
	}
	nextA, nextB := 0, 0 // the lines that would follow
	differ := func(a, b int) {
		if a > nextA || b > nextB {
			add(nextB, b)
		}
		nextA, nextB = a+1, b+1
	}
	for _, pair := range pairs.Of(a, b) {
		differ(pair[0], pair[1])
	}
	differ(len(a), len(b))
	return all
}
