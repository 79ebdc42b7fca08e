package filetool

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/filetool/procfile"
)

// mostNamed is how many lines a note names.
const mostNamed = 8

// read reads a file.
func (s *Set) read(ctx context.Context, c toolset.Call) report {
	var args readArgs
	if rep, ok := s.begin(ctx, c, s.names.read, readExample, &args); !ok {
		return rep
	}
	path := string(args.Path)
	if rep, ok := s.ask(ctx, c, []string{path}, nil, "Nothing was read"); !ok {
		return rep
	}
	res, err := s.files.Read(ctx, procfile.ReadRequest{Path: path, Offset: int64(args.Offset), Limit: int(min(args.Limit, procfile.MaxLines))})
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			s.memory.forget(path)
		}
		return s.failed(err, "nothing was read")
	}
	if !res.Partial { // else it was not read to its end
		s.memory.saw(path, res.FileInfo, false, procfile.Hunk{From: res.From, Lines: res.Lines})
	}
	return s.reportOf(path, &res)
}

// elsewhere returns where a file is, if its path does not end as the call has it.
func elsewhere(asked, is string) string {
	asked = filepath.ToSlash(filepath.Clean(asked))
	if is := filepath.ToSlash(is); is == asked || strings.HasSuffix(is, "/"+asked) {
		return ""
	}
	return is
}

// reportOf lays out lines that were read, and the notes on them.
func (s *Set) reportOf(path string, res *procfile.ReadResult) report {
	r := report{read: res, path: elsewhere(path, res.Path)}
	text := lines(res.From, res.Lines)
	r.Output = &text
	next := res.From + int64(len(res.Lines))
	if res.Total == 0 {
		r.add("The file is empty.")
	}
	if next <= res.Total && len(res.Lines) > 0 {
		r.NextOffset = &next
		r.add("%s reads on", s.readCall(path, next))
	}
	if res.Partial {
		r.add("The file is too large to be read to its end, and has more lines than these; a command finds more, such as grep or tail")
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
	r.add(masked(res.Redacted))
	return r
}

// lines writes lines with their numbers.
func lines(from int64, all []procfile.Line) string {
	var b strings.Builder
	for i, line := range all {
		fmt.Fprintf(&b, "%d\t%s\n", from+int64(i), line)
	}
	return b.String()
}

// write writes a file.
func (s *Set) write(ctx context.Context, c toolset.Call) report {
	var args writeArgs
	if rep, ok := s.begin(ctx, c, s.names.write, writeExample, &args); !ok {
		return rep
	}
	path := string(args.Path)
	if rep, ok := s.ask(ctx, c, nil, []string{path}, "Nothing was written"); !ok {
		return rep
	}
	known, version := s.known(ctx, path), ""
	switch {
	case bool(args.Overwrite):
	case known == nil:
		version = procfile.Absent
	case !known.whole:
		return refuse("nothing was written: you have not seen all of %s, which has %s; change it with %s, or read the rest with %s and write it then, or set overwrite to replace what you have not seen",
			oneLine(known.Path), counted(int(known.Total), "line", "lines"), s.names.edit, s.names.read)
	default:
		version = known.Version
	}
	res, err := s.files.Write(ctx, procfile.WriteRequest{Path: path, Content: string(args.Content), Version: version})
	switch {
	case errors.Is(err, procfile.ErrChanged) && version == procfile.Absent:
		return refuse("nothing was written: %s, and you have not read it; read it with %s first, or set overwrite to replace it unseen", clip(procfile.Reason(err)), s.names.read)
	case errors.Is(err, procfile.ErrChanged):
		return s.changed("nothing was written", err, path)
	case err != nil:
		return s.failed(err, "nothing was written")
	}
	rep := report{written: &res, path: elsewhere(path, res.Path)}
	switch was := res.Before; {
	case res.Created:
	case was.Total == 0 && was.Size > 0: // too large to be counted
		rep.add("It replaced a file of %d bytes", was.Size)
	default:
		rep.add("It replaced a file of %s", counted(int(was.Total), "line", "lines"))
	}
	if res.Encoding != procfile.UTF8 && res.Encoding == res.Before.Encoding {
		rep.add("The file keeps its encoding, %s", res.Encoding)
	}
	if was := res.Before.Ends; was == procfile.CRLF && res.Ends == was && !strings.Contains(string(args.Content), "\r\n") {
		rep.add(`The file keeps its line ends, \r\n`)
	} else if was != procfile.NoEnds && was != res.Ends && res.Ends != procfile.NoEnds {
		rep.add("Its line ends were %s and are %s now", was, res.Ends)
	}
	rep.lost(res.Lost)
	s.memory.saw(path, res.FileInfo, true)
	return rep
}

// changed returns the result of a call that was refused because a file has changed since
// the model has read it. The files count as not seen any more.
func (s *Set) changed(undone string, err error, asked ...string) report {
	for _, path := range asked {
		s.memory.forget(path)
	}
	return refuse("%s: a file has changed since you read it: %s. Read it, and if the call is still right, make it again", undone, clip(procfile.Reason(err)))
}

// edit edits files.
func (s *Set) edit(ctx context.Context, c toolset.Call) report {
	var args editArgs
	if rep, ok := s.begin(ctx, c, s.names.edit, editExample, &args); !ok {
		return rep
	}
	var req procfile.EditRequest
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
		if f := s.known(ctx, req.Files[i].Path); f != nil {
			req.Files[i].Version = f.Version
		}
	}
	res, err := s.files.Edit(ctx, req)
	switch {
	case errors.Is(err, procfile.ErrChanged):
		return s.changed("nothing was edited", err, paths...)
	case err != nil && len(paths) > 1:
		return s.failed(err, "nothing was edited, in no file")
	case err != nil:
		return s.failed(err, "nothing was edited")
	}
	for _, f := range res.Files {
		before, _ := s.memory.of(f.Path)
		s.memory.saw(f.Path, f.FileInfo, before != nil && before.whole, f.Hunks...)
	}
	return editsOf(&res)
}

// editsOf lays out the lines that were changed.
func editsOf(res *procfile.EditResult) report {
	r := report{edited: res}
	var b strings.Builder
	omitted := 0
	var redacted, lost []string
	for _, f := range res.Files {
		fmt.Fprintf(&b, "%s\n", oneLine(f.Path))
		omitted += f.Omitted
		redacted, lost = append(redacted, f.Redacted...), append(lost, f.Lost...)
		for i, h := range f.Hunks {
			if i > 0 {
				b.WriteString("...\n")
			}
			b.WriteString(lines(h.From, h.Lines))
		}
	}
	text := b.String()
	r.Output = &text
	r.lost(lost)
	if omitted > 0 {
		r.add("%s of the changes are not shown", counted(omitted, "line", "lines"))
	}
	r.add(masked(redacted))
	return r
}
