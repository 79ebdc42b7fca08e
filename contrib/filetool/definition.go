package filetool

import (
	"strings"

	"github.com/toolproc/toolproc/chattool/arguments"
)

const readDescription = `Read a text file: each line as its number, a tab and its text; a number and its tab are no part of the file. ` +
	`At most 2000 lines and 32 KiB; the result has the total and the next_offset that reads on. ` +
	`A negative offset reads the end of the file.`

const writeDescription = `Write a whole text file, as it is given; parent directories are made. ` +
	`To change a part of a file use {edit_files}. ` +
	`Nothing is written over a file that you have not read in full, or that has changed since.`

const editDescription = `Replace text in one or several files; either all edits are done or none. ` +
	`search is text of the file, whole lines best, without line numbers, and enough of them to be there once. ` +
	`Edits of a file are made one after the other. Returns the changed lines.`

// What an error of the arguments shows.
const (
	readExample  = `{"path":"src/main.go","offset":120,"limit":50}`
	writeExample = `{"path":"src/main.go","content":"package main\n"}`
	editExample  = `{"files":[{"path":"src/main.go","edits":[{"search":"old text","replace":"new text"}]}]}`
)

// The arguments of the tools, as package arguments reads them. [Set.fill] completes
// a description.

type readArgs struct {
	Path   arguments.Text  `json:"path" description:"Absolute, or from the working directory." alias:"file,file_path,filepath,filename,name,target_file"`
	Offset arguments.Line  `json:"offset,omitempty" description:"First line to read, from 1; negative counts from the end: -50 is the last 50. Default 1." alias:"line,start,start_line,from,first_line,line_offset,since"`
	Limit  arguments.Lines `json:"limit,omitempty" description:"How many lines; default and most 2000." alias:"lines,count,num_lines,max_lines,line_count"`
}

type writeArgs struct {
	Path      arguments.Text `json:"path" description:"Absolute, or from the working directory." alias:"file,file_path,filepath,filename,name,target_file"`
	Content   arguments.Text `json:"content" description:"The whole file." alias:"text,contents,file_text,data,body,new_content"`
	Overwrite arguments.Flag `json:"overwrite,omitempty" description:"Replace a file that you have not read." alias:"force,replace,overwrite_existing"`
}

type editArgs struct {
	Files arguments.List[fileArgs] `json:"files" description:"Each file once." alias:"file,changes,paths"`
}

type fileArgs struct {
	Path  arguments.Text            `json:"path" description:"Absolute, or from the working directory." alias:"file,file_path,filepath,filename,name,target_file"`
	Edits arguments.List[placeArgs] `json:"edits" alias:"changes,replacements,edit,operations"`
}

type placeArgs struct {
	Search  arguments.Text `json:"search" description:"Text that is in the file." alias:"old_string,old_str,old_text,old,find,original,search_string"`
	Replace arguments.Text `json:"replace" description:"What comes there; empty deletes." alias:"new_string,new_str,new_text,new,replacement,replace_string"`
	All     arguments.Flag `json:"all,omitempty" description:"Replace every place, not just the only one." alias:"replace_all,global,every,multiple"`
}

// names are the names by which a model knows the tools.
type names struct{ read, write, edit string }

var ownNames = names{"read_file", "write_file", "edit_files"}

func (n names) all() []string { return []string{n.read, n.write, n.edit} }

// rename returns the names after the host's changes. The error says which of the
// changes is impossible.
func (n names) rename(to map[string]string) (names, error) {
	err := arguments.Rename(to, &n.read, &n.write, &n.edit)
	return n, err
}

// fill puts the Set's own names into a description.
func (s *Set) fill(description string) string {
	return strings.NewReplacer("{read_file}", s.names.read, "{write_file}", s.names.write, "{edit_files}", s.names.edit).Replace(description)
}

// readCall returns a call of read_file as a model would make it.
func (s *Set) readCall(path string, offset int64) string {
	return s.names.read + " " + encode(struct {
		Path   string `json:"path"`
		Offset int64  `json:"offset,omitempty"`
	}{path, offset})
}
