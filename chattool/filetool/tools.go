package filetool

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/procfile"
)

// mostNamed is how many lines a note names.
const mostNamed = 8

// read reads a file.
func (s *Set) read(ctx context.Context, c Call) report {
	var args readArgs
	if rep, ok := s.begin(ctx, c, s.names.read, &args); !ok {
		return rep
	}
	path := string(args.Path)
	if rep, ok := s.ask(ctx, c, []string{path}, nil, "Nothing was read"); !ok {
		return rep
	}
	res, err := s.files.Read(ctx, procfile.ReadRequest{Path: path, Offset: int64(args.Offset), Limit: int(min(args.Limit, procfile.MaxLines))})
	if err != nil {
		return s.failed(err, "nothing was read")
	}
	rep := report{budget: s.opts.allow(int(args.MaxOutput)), path: elsewhere(path, res.Path)}
	rep.Read = &res
	rep.fit = func(r *report) { s.shorten(path, r) }
	s.showRead(path, &rep)
	s.memory.saw(path, res.Path, res.Version, []procfile.Hunk{{From: res.From, Lines: res.Lines}})
	return rep
}

// elsewhere returns where a file is, if its path does not end as the call has it.
func elsewhere(asked, is string) string {
	asked = filepath.ToSlash(filepath.Clean(asked))
	if is := filepath.ToSlash(is); is == asked || strings.HasSuffix(is, "/"+asked) {
		return ""
	}
	return is
}

// showRead lays out the lines of a report, and the notes on them.
func (s *Set) showRead(path string, r *report) {
	res := r.Read
	text := lines(res.From, res.Lines)
	r.Output, r.Notes, r.NextOffset = &text, nil, 0
	next := res.From + int64(len(res.Lines))
	if res.Total == 0 {
		r.add("The file is empty.")
	}
	if next <= res.Total && len(res.Lines) > 0 {
		r.NextOffset = next
		r.add("%s reads on", s.hint(path, next))
	}
	var cut []string
	for i, line := range res.Lines {
		if line.Cut > 0 {
			cut = append(cut, fmt.Sprint(res.From+int64(i)))
		}
	}
	if len(cut) > 0 {
		more := ""
		if len(cut) > mostNamed {
			cut, more = cut[:mostNamed], " and others"
		}
		r.add("Over %d bytes long and cut: line %s%s; a command shows all of one, such as sed -n %sp", procfile.MaxLine, strings.Join(cut, ", "), more, cut[0])
	}
	if res.Invalid {
		r.add("U+FFFD stands for bytes that are no text; an edit leaves them as they are")
	}
	r.add(wording.Masked(res.Redacted))
}

// lines writes lines with their numbers.
func lines(from int64, all []procfile.Line) string {
	var b strings.Builder
	for i, line := range all {
		fmt.Fprintf(&b, "%d\t%s", from+int64(i), line.Text)
		if line.Cut > 0 {
			fmt.Fprintf(&b, "… [%d bytes more]", line.Cut)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// shorten leaves out lines at the end until the result fits. One line stays.
func (s *Set) shorten(path string, r *report) {
	whole := *r.Read
	fewest, most := 1, len(whole.Lines) // fewest fit, as far as that is possible, and most do not
	for fewest+1 < most {
		n := (fewest + most) / 2
		if s.cutTo(path, r, whole, n); r.budget.fits(s.render(*r)) {
			fewest = n
		} else {
			most = n
		}
	}
	s.cutTo(path, r, whole, min(fewest, len(whole.Lines)))
}

// cutTo lays out the first lines of a report.
func (s *Set) cutTo(path string, r *report, whole procfile.ReadResult, n int) {
	whole.Lines = whole.Lines[:n]
	r.Read = &whole
	s.showRead(path, r)
}

// write writes a file.
func (s *Set) write(ctx context.Context, c Call) report {
	var args writeArgs
	if rep, ok := s.begin(ctx, c, s.names.write, &args); !ok {
		return rep
	}
	path := string(args.Path)
	if rep, ok := s.ask(ctx, c, nil, []string{path}, "Nothing was written"); !ok {
		return rep
	}
	version := s.known(ctx, path)
	res, err := s.files.Write(ctx, procfile.WriteRequest{Key: procmgr.NewID(), Path: path, Content: string(args.Content), Version: version})
	if errors.Is(err, procfile.ErrChanged) {
		return s.changed(ctx, []string{path}, "nothing was written", err)
	}
	if err != nil {
		return s.failed(err, "nothing was written")
	}
	rep := report{budget: s.opts.allow(0), path: elsewhere(path, res.Path)}
	rep.Written = &res
	if !res.Created {
		rep.add("It replaced a file of %s", wording.Counted(int(res.Before), "line", "lines"))
	}
	if res.Encoding != procfile.UTF8 {
		rep.add("The file keeps its encoding, %s", res.Encoding)
	}
	s.memory.saw(path, res.Path, res.Version, []procfile.Hunk{{From: 1, Lines: linesOf(string(args.Content))}})
	return rep
}

// linesOf returns the first lines of a text, as a result would have them.
func linesOf(text string) (all []procfile.Line) {
	size := 0
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		cut := max(len(line)-procfile.MaxLine, 0)
		line = strings.ToValidUTF8(line[:len(line)-cut], "")
		if size += len(line); len(all) == procfile.MaxLines || size > procfile.MaxText {
			break
		}
		all = append(all, procfile.Line{Text: line, Cut: int64(cut)})
	}
	return all
}

// edit edits files.
func (s *Set) edit(ctx context.Context, c Call) report {
	var args editArgs
	if rep, ok := s.begin(ctx, c, s.names.edit, &args); !ok {
		return rep
	}
	req := procfile.EditRequest{Key: procmgr.NewID()}
	var paths []string
	for _, f := range args.Files {
		file := procfile.FileEdit{Path: string(f.Path)}
		for _, e := range f.Edits {
			file.Edits = append(file.Edits, procfile.Edit{Search: string(e.Search), Replace: string(e.Replace), All: bool(e.All)})
		}
		req.Files, paths = append(req.Files, file), append(paths, file.Path)
	}
	if rep, ok := s.ask(ctx, c, paths, paths, "Nothing was edited"); !ok {
		return rep
	}
	for i := range req.Files {
		req.Files[i].Version = s.known(ctx, req.Files[i].Path)
	}
	res, err := s.files.Edit(ctx, req)
	switch {
	case errors.Is(err, procfile.ErrChanged):
		return s.changed(ctx, paths, "nothing was edited", err)
	case err != nil && len(paths) > 1:
		return s.failed(err, "nothing was edited, in no file")
	case err != nil:
		return s.failed(err, "nothing was edited")
	}
	rep := report{budget: s.opts.allow(int(args.MaxOutput))}
	rep.Edited = &res
	rep.fit = s.shortenEdits
	s.showEdits(&rep, -1)
	for _, f := range res.Files {
		s.memory.saw(f.Path, f.Path, f.Version, f.Hunks)
	}
	return rep
}

// showEdits lays out the changed lines, at most so many of them; -1 is all.
func (s *Set) showEdits(r *report, most int) {
	var b strings.Builder
	r.Notes = nil
	omitted, loose := 0, false
	var redacted []string
	for _, f := range r.Edited.Files {
		fmt.Fprintf(&b, "%s\n", wording.OneLine(f.Path))
		omitted, loose, redacted = omitted+f.Omitted, loose || f.Loose, append(redacted, f.Redacted...)
		for i, h := range f.Hunks {
			n := len(h.Lines)
			if most >= 0 {
				n = min(n, most)
				most -= n
			}
			if omitted += len(h.Lines) - n; n == 0 {
				continue
			}
			if i > 0 {
				b.WriteString("...\n")
			}
			b.WriteString(lines(h.From, h.Lines[:n]))
		}
	}
	text := b.String()
	r.Output = &text
	if loose {
		r.add("Some search differed from the file in white space, and was found by its lines: look whether the result is what was meant")
	}
	if omitted > 0 {
		r.add("%s of the changes are not shown", wording.Counted(omitted, "line", "lines"))
	}
	r.add(wording.Masked(redacted))
}

func (s *Set) shortenEdits(r *report) {
	most := 0
	for _, f := range r.Edited.Files {
		for _, h := range f.Hunks {
			most += len(h.Lines)
		}
	}
	fewest := 0
	for fewest+1 < most {
		n := (fewest + most) / 2
		if s.showEdits(r, n); r.budget.fits(s.render(*r)) {
			fewest = n
		} else {
			most = n
		}
	}
	s.showEdits(r, fewest)
}
