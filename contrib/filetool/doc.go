// Package filetool gives a language model three tools for the text files of one
// machine. It has the shape of package toolset: definitions with JSON schemas, and
// one function that carries out a call.
//
//	read_file   read lines of a file, from any of them on
//	write_file  write a whole file
//	edit_files  replace text in one or several files, in all of them or in none
//
// The files belong to a [procfile.Files]: a [procfile.Local], or the Client of package
// filehttp. Package procfile has the contract, with what a write and an edit promise. Function
// ToolsOf of package chattool makes them tools of charm.land/fantasy. A host that has the tools of
// package toolset as well sets toolset.Options.Files, so that notes on commands that
// only print files name read_file.
//
// # What a model can rely on
//
// A [Set] remembers the version of each file that it has shown or written. If a file
// has changed since, write_file and edit_files change nothing, and the model has to read
// it again. write_file replaces a file only if the model has seen all of it, or sets
// overwrite. A Set belongs to one conversation. It remembers the newest 128 files.
//
// A write keeps the byte order mark and the line ends of the file that it replaces.
//
// A write or an edit is done once at most. If its answer is lost on the way, the model has
// to read the file before it goes on.
//
// # Results
//
// A result is a [toolset.Result]. Its Report has Success, Error, Denied, Output,
// NextOffset and Notes. Content has the facts for the model, in Options.Format. In JSON the
// object has
//
//	success        whether the call has done its work
//	output         the lines: each its number, a tab, its text and \n
//	path           where the file is, if the call names it otherwise
//	lines, size    of the whole file; size is in bytes
//	encoding       if it is not UTF-8
//	line_ends      "crlf" or "mixed", if they are not \n
//	created        whether write_file has made the file
//	places         how many places edit_files has replaced
//	next_offset    the offset that reads on from here
//	error          what went wrong, and what to do next
//	denied         whether Options.Approve denied it
//	note           what to know and what to do next
//
// The lines that read_file returns are at most 2,000 and 32 KiB with their numbers. A
// line of over 1,024 bytes is cut, and says how many bytes are missing; the note has the
// numbers of such lines, so that a file cannot say so.
//
// output of edit_files has, for each file, a line with its path, and then the lines
// that have changed with two around them, never the whole file. A line with ... alone
// separates lines that are not adjacent.
//
// Values of secrets that the Files know are masked, [withheld: NAME], and a note names
// them. A text that would write such words into a file is refused.
//
// IsError is set if the tool could not do its work, as for a file that is
// missing. A denied call is no error.
//
// # Testing
//
// A Set needs a [procfile.Files]. One of a few lines is enough, and so is a Local with a Root
// in a temporary directory.
package filetool
