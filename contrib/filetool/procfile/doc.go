// Package procfile reads, writes and edits the text files of one machine, for a
// program that lets a model do so. [Files] is the contract. [Local] is the files
// of this machine, and the Client of package filehttp the files of another one. The
// tools for a model are in contrib/filetool.
//
// # What can be relied on
//
// A file of any size is read by its lines, in bounded memory and time. A write happens
// whole or not at all: the new content is written beside the file, forced to the
// disk and renamed. Mode and owner stay, a symbolic link stays and what it leads
// to is written, and missing directories are made, which stay if the write then fails.
// Edits of several files are all done or none.
//
// A write may name the Version that its caller has read. If the file has another
// one by then, the error is [ErrChanged] and nothing is written.
//
// # Text
//
// The text of a request and of a result is UTF-8 with \n between lines. Lines of a file may
// also end with \r\n. An edit keeps the byte order mark, the line ends and every byte beside
// what it changes, also bytes that are no valid text. A file in UTF-16 is [ErrNotText].
//
// # What it does not do
//
// Extended attributes, access control lists and further hard links of a file are
// lost when it is written, since the new file is another one; the result says so. A file
// that no new one can replace, such as a mount point, is refused with ErrUnsupported of
// package errors. On Windows, a file that is written gets the owner and access control
// list of a new one. A file of another user that this program could not give back to
// them is refused. The values of secrets are masked in results as they are, and not in
// other forms such as base64; that is no boundary.
//
// A program that is killed in the middle of a write leaves a file .toolproc-*.tmp in the
// directory, until the next write there removes it. Where directories have no locks, as on
// Windows, it stays.
//
// It builds on Unix and Windows.
//
// # Testing
//
// [Files] is small enough for a fake. A Local with a Root in a temporary directory
// is one with real files.
package procfile
