package procfile

import (
	"bytes"
	"context"
	"fmt"
)

// Files are the text files of one machine. All methods are safe for concurrent use.
//
// A path may be relative: then it begins at the directory of the Files, such as
// LocalOptions.Dir. Paths in results are absolute and have no symbolic link in them.
//
// An error says with which of the package's errors it matches [errors.Is], and in
// its words what to do next; [Reason] returns those words.
type Files interface {
	// Read returns lines of a file.
	Read(ctx context.Context, req ReadRequest) (ReadResult, error)
	// Write writes a file, whole or not at all.
	Write(ctx context.Context, req WriteRequest) (WriteResult, error)
	// Edit replaces text in files, in all of them or in none.
	Edit(ctx context.Context, req EditRequest) (EditResult, error)
}

// The limits of a result.
const (
	// MaxLines is the most lines that a Read returns.
	MaxLines = 2000
	// MaxText is the most text that a Read or an Edit returns, in bytes: the lines
	// with their numbers and ends.
	MaxText = 32 << 10
	// MaxLine is the longest line that a result has whole, in bytes.
	MaxLine = 1024
	// MaxEdit is the size of the largest file that can be edited, in bytes.
	MaxEdit = 16 << 20
)

// A ReadRequest asks for lines of a file.
type ReadRequest struct {
	Path string `json:"path"`
	// Offset is the number of the first line, from 1 on. 0 is 1. A negative
	// Offset counts from the end: -1 is the last line. One before the beginning
	// is the beginning.
	Offset int64 `json:"offset,omitempty"`
	// Limit is the most lines to return; 0 or less, and more than MaxLines, is
	// MaxLines.
	Limit int `json:"limit,omitempty"`
}

// A Line is one line of a file, without its end.
type Line struct {
	// Text is valid UTF-8. U+FFFD stands for a NUL and for each byte that is no
	// valid text. It has at most MaxLine bytes.
	Text string `json:"text"`
	// Cut is how many bytes of the line Text leaves out at its end.
	Cut int64 `json:"cut,omitempty"`
}

// String returns the line as a model reads it: Text, and how much is missing. A write
// that has such words in the place of the rest is refused.
func (l Line) String() string {
	if l.Cut == 0 {
		return l.Text
	}
	return fmt.Sprintf("%s… [%d bytes more]", l.Text, l.Cut)
}

// A ReadResult has lines of a file, and what is known of the file.
type ReadResult struct {
	FileInfo
	// From is the number of the first of Lines, from 1 on.
	From int64 `json:"from"`
	// Lines are the lines. There are fewer than the request allows if the text
	// would exceed MaxText, and none behind the last line.
	Lines []Line `json:"text"`
	// Redacted has the names of the secrets whose values are masked in Lines:
	// [withheld: NAME] stands in their place.
	Redacted []string `json:"redacted,omitempty"`
	// Invalid reports that Lines have a NUL or bytes that are no valid text.
	Invalid bool `json:"invalid,omitempty"`
	// Partial reports that the file is so large that it was not read to its end: Total,
	// Ends and Unended are of what was read.
	Partial bool `json:"partial,omitempty"`
}

// A FileInfo is what is known of a file.
type FileInfo struct {
	// Path is absolute, and has no symbolic link in it.
	Path string `json:"path"`
	// Size is in bytes, and Total in lines. A last line without a line end counts.
	Size  int64 `json:"size"`
	Total int64 `json:"lines"`
	// Version stands for the content.
	Version  string   `json:"version"`
	Encoding Encoding `json:"encoding"`
	// Ends are the ends of the lines.
	Ends LineEnds `json:"line_ends,omitempty"`
	// Unended reports that the last line has no line end.
	Unended bool `json:"unended,omitempty"`
}

// An Encoding is how a file holds its text.
type Encoding string

// The encodings.
const (
	UTF8    Encoding = "utf-8"
	UTF8BOM Encoding = "utf-8-bom" // with a byte order mark
)

// byteOrderMark is how a file with the encoding UTF8BOM begins.
const byteOrderMark = "\xef\xbb\xbf"

// textOf returns the encoding and the text of a content or of its beginning.
func textOf(data []byte) (Encoding, []byte) {
	if text, ok := bytes.CutPrefix(data, []byte(byteOrderMark)); ok {
		return UTF8BOM, text
	}
	return UTF8, data
}

// encode returns the content with a text.
func (e Encoding) encode(text string) []byte {
	if e == UTF8BOM {
		text = byteOrderMark + text
	}
	return []byte(text)
}

// LineEnds are the line ends that a file has.
type LineEnds string

// The line ends.
const (
	NoEnds LineEnds = ""      // there is none
	LF     LineEnds = "lf"    // \n alone
	CRLF   LineEnds = "crlf"  // \r\n alone
	Mixed  LineEnds = "mixed" // both
)

// A WriteRequest has the new content of a file.
type WriteRequest struct {
	Path string `json:"path"`
	// Content is the whole text. If there is a file, its byte order mark
	// stays; if all its lines end with \r\n and Content has none, so do they.
	Content string `json:"content"`
	// Version is the one that the file must have; "" is any, and no file. Absent is
	// no file, or an empty one.
	Version string `json:"version,omitempty"`
}

// A WriteResult tells of the file that was written.
type WriteResult struct {
	FileInfo
	// Created reports that there was no file before.
	Created bool `json:"created,omitempty"`
	// Before is the file before, of one of over MaxEdit its size, encoding and version
	// alone.
	Before FileInfo `json:"before,omitzero"`
	// Lost is what the file had before and has no more, since it is a new one: further
	// hard links, and extended attributes by their names, as far as the system tells.
	Lost []string `json:"lost,omitempty"`
}

// Absent is the Version of a file that is not there.
const Absent = "absent"

// An EditRequest has edits of files. All of them are done, or none.
type EditRequest struct {
	Files []FileEdit `json:"files"`
}

// A FileEdit has the edits of one file. Each is made in what the one before it has
// left.
type FileEdit struct {
	Path    string `json:"path"`
	Version string `json:"version,omitempty"` // as in a WriteRequest
	Edits   []Edit `json:"edits"`
}

// An Edit replaces text.
//
// Search is found as it is, white space included; only line ends may be \r\n in one of both
// and \n in the other. Replace gets the line ends of the file.
//
// Some edits are refused because they would do what their author can't have meant:
//
//   - If Search is one line that begins behind the indentation of a line of the file,
//     Replace must not have several lines. This is [ErrAmbiguous].
//   - Replace must not indent lines in a way in which no other line of the file is indented.
//   - If Search begins or ends with a line end, Replace must too, unless it is the rest of
//     Search, or empty for a Search with one of the two.
type Edit struct {
	Search  string `json:"search"`
	Replace string `json:"replace"`
	// All replaces every place. Without it, several places are [ErrAmbiguous].
	All bool `json:"all,omitempty"`
}

// An EditResult tells of each file, in the order of the request. A file that the
// request has twice is there once.
type EditResult struct {
	Files []EditedFile `json:"files"`
}

// An EditedFile tells what has become of a file.
type EditedFile struct {
	FileInfo
	// Hunks are the lines that the edits have put in, or changed, with two lines around
	// them, in the order of the file. They have at most MaxText bytes in all files together.
	Hunks []Hunk `json:"hunks"`
	// Places is how many places were replaced.
	Places int `json:"places"`
	// Lost is as in a WriteResult.
	Lost []string `json:"lost,omitempty"`
	// Omitted is how many lines of hunks were left out.
	Omitted int `json:"omitted,omitempty"`
	// Redacted is as in a ReadResult.
	Redacted []string `json:"redacted,omitempty"`
}

// A Hunk is some lines of a file after the edits: changed lines and their context.
type Hunk struct {
	From  int64  `json:"from"` // the number of the first line
	Lines []Line `json:"text"`
}
