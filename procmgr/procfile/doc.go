// Package procfile reads, writes and edits the text files of one machine, for a
// program that lets a model do so. [Files] is the contract. [Local] is the files
// of this machine, and the Client of package prochttp those of another one. The
// tools for a model are in chattool/filetool.
//
// # What can be relied on
//
// A file of any size is read by its lines in bounded memory. A write happens
// whole or not at all: the new content is written beside the file, forced to the
// disk and renamed. Mode and owner stay, a symbolic link stays and what it leads
// to is written, and missing directories are made. Edits of several files are all
// done or none. A request with a Key is carried out once.
//
// A write may name the Version that its caller has read. If the file has another
// one by then, the error is [ErrChanged] and nothing is written.
//
// # Text
//
// The text of a request and of a result is UTF-8 with \n between lines. A file may
// also be UTF-16, if it begins with a byte order mark, and its lines may end with
// \r\n. An edit keeps the encoding, the byte order mark, the line ends and every
// byte beside what it changes, also bytes that are no valid text.
//
// # What it does not do
//
// Extended attributes, access control lists and further hard links of a file are
// lost when it is written, since the new file is another one. On Windows, owner and
// access control list are those of a new file. A file of another user that this
// program could not give back to them is refused. The values of secrets are masked
// in what Read returns, as in the output of processes; that is no boundary.
//
// # Testing
//
// [Files] is small enough for a fake. A Local with a Root in a temporary directory
// is one with real files.
package procfile
