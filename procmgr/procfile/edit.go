package procfile

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
	"github.com/toolproc/toolproc/procmgr/procfile/internal/edits"
)

// Edit implements [Files]. If this program or the machine ends between the renames of
// several files, some of them have their edits and others not.
func (l *Local) Edit(ctx context.Context, req EditRequest) (EditResult, error) {
	res, err := doOnce(ctx, &l.once, req.Key, keyed("edit", req.Files), func() (EditResult, error) {
		return l.doEdit(ctx, req)
	})
	return res, wrap("edit", "", err)
}

// An edited file is one of an Edit.
type edited struct {
	place
	version string
	edits   []Edit
	old     *content
	before  string // its text, before and after
	after   string
	places  int
	loose   bool
}

func (l *Local) doEdit(ctx context.Context, req EditRequest) (res EditResult, err error) {
	if len(req.Files) == 0 {
		return res, xerrors.Errorf("there are no files to edit: %w", procmgr.ErrInvalid)
	}
	c, err := l.begin(ctx)
	if err != nil {
		return res, err
	}
	defer func() { err = c.end(err) }()
	all, err := l.edited(req)
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
	set := l.secrets()
	for _, e := range all {
		if err := c.apply(ctx, e, set); err != nil {
			return res, err
		}
	}
	room := MaxText
	for _, e := range all {
		data := e.old.data
		if e.after != e.before {
			data = e.old.encoding.encode(e.after)
			if err := c.stage(ctx, e.place, e.old, data); err != nil {
				return res, err
			}
		}
		f := EditedFile{FileInfo: describe(e.path, data), Hunks: []Hunk{}, Places: e.places, Loose: e.loose}
		f.show(e.before, e.after, set, &room)
		res.Files = append(res.Files, f)
	}
	return res, c.commit(ctx)
}

// edited returns the files of a request, each once.
func (l *Local) edited(req EditRequest) (all []*edited, err error) {
	for _, f := range req.Files {
		p, err := l.existing(f.Path)
		if err != nil {
			return nil, err
		}
		if len(f.Edits) == 0 {
			return nil, xerrors.Errorf("there are no edits for %s: %w", p.path, procmgr.ErrInvalid)
		}
		i := slices.IndexFunc(all, func(e *edited) bool { return e.path == p.path })
		if i < 0 {
			all = append(all, &edited{place: p, version: f.Version, edits: slices.Clone(f.Edits)})
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
func (c *change) apply(ctx context.Context, e *edited, set *redact.Set) (err error) {
	if e.old, err = c.current(ctx, e.place); err != nil {
		return err
	}
	switch {
	case e.old == nil:
		return c.l.missing(e.place)
	case e.old.data == nil:
		return xerrors.Errorf("%s has %d bytes, and a file of over %d cannot be edited; use a command, such as sed -i: %w", e.path, e.old.info.Size(), MaxEdit, procmgr.ErrLimit)
	}
	if err := e.old.is(e.path, e.version); err != nil {
		return err
	}
	if _, wide := e.old.encoding.wide(); !wide && isBinary(e.old.data[:min(len(e.old.data), headSize)]) {
		return errBinary(e.path, e.old.info.Size())
	}
	s, ok := e.old.encoding.decode(e.old.data)
	if !ok {
		return xerrors.Errorf("%s is not quite UTF-16, and an edit would change more than its place; use a command: %w", e.path, ErrNotText)
	}
	e.before, e.after = s, s
	masked := func(line string) string { return mask(set, line) }
	for i, edit := range e.edits {
		if err := ctx.Err(); err != nil {
			return err
		}
		done, err := edits.Make(e.after, edits.Edit(edit), masked)
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
	return checkMarkers(set, e.before, e.after)
}
