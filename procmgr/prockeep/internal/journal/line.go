package journal

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"hash/crc32"
	"net/url"
	"strconv"
	"strings"
)

// A Kind says what has become of a process.
type Kind byte

// The kinds of lines.
const (
	Starting   Kind = 'S' // it is about to be forked
	Started    Kind = 'R' // it runs
	Turned     Kind = 'T' // its state has changed
	NotStarted Kind = 'N' // nothing has run under its ID
	Forgotten  Kind = 'F' // nobody needs to know it any more
	Note       Kind = 'M' // the keeper's own; its Key has only a name
)

func (k Kind) known() bool { return strings.IndexByte("SRTNFM", byte(k)) >= 0 }

// last reports whether a line of this kind ends what is known of a process.
func (k Kind) last() bool { return k == NotStarted || k == Forgotten }

// A Key names a process. Seq is the number of its start, which is its own. A Note
// has a name as its ID, and the other fields are zero.
type Key struct {
	Seq      uint64
	Chat, ID string
}

// An Entry is what the journal knows of a process.
type Entry struct {
	Key
	Kind   Kind
	Record []byte // of its last line that can be read
	// Damaged says that a line of the process cannot be read, and that Record may
	// be of an earlier one; it may be nil.
	Damaged bool
}

// A line is an Entry with its number in the file. The lines of a file are
// numbered, so that missing ones are noticed.
type line struct {
	number uint64
	text   []byte // the head, if it was read from a damaged line
	Entry
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

func sum(p ...[]byte) []byte {
	var crc uint32
	for _, p := range p {
		crc = crc32.Update(crc, castagnoli, p)
	}
	return hex.AppendEncode(nil, []byte{byte(crc >> 24), byte(crc >> 16), byte(crc >> 8), byte(crc)})
}

// damagedMark follows the kind in the head of an entry that is damaged.
const damagedMark = "!"

// head returns the head of a line. It has no space, and its fields have no slash.
func (l *line) head() []byte {
	kind := string(l.Kind)
	if l.Damaged {
		kind += damagedMark
	}
	return []byte(strconv.FormatUint(l.number, 10) + "/" + kind + "/" + strconv.FormatUint(l.Seq, 10) + "/" +
		url.QueryEscape(l.Chat) + "/" + url.QueryEscape(l.ID))
}

// encode returns the line with its end.
func (l *line) encode() []byte {
	head := l.head()
	headSum := sum(head)
	body := base64.RawStdEncoding.AppendEncode(nil, l.Record)
	all := make([]byte, 0, 2*len(head)+len(body)+2*len(headSum)+14)
	all = append(append(append(append(all, head...), ' '), headSum...), ' ')
	all = append(append(append(append(all, body...), ' '), sum(head, []byte{' '}, body)...), ' ')
	return append(append(append(append(all, head...), ' '), headSum...), '\n')
}

// parse reads a line without its end. If it is damaged, ok is false, and found has
// those of its heads that can be read.
func parse(text []byte) (l line, found []line, ok bool) {
	fields := bytes.Split(text, []byte{' '})
	if len(fields) == 6 && bytes.Equal(fields[0], fields[4]) && bytes.Equal(fields[1], fields[5]) &&
		bytes.Equal(fields[1], sum(fields[0])) && bytes.Equal(fields[3], sum(fields[0], []byte{' '}, fields[2])) {
		if l, ok = parseHead(fields[0]); ok {
			body, err := base64.RawStdEncoding.DecodeString(string(fields[2]))
			if err == nil {
				l.Record = body
				return l, nil, true
			}
		}
	}
	for i := range len(fields) - 1 {
		if !bytes.HasPrefix(fields[i+1], sum(fields[i])) {
			continue // the sum may be glued to the next line, if the end of this one is damaged
		}
		if l, ok := parseHead(fields[i]); ok {
			l.text = fields[i]
			found = append(found, l)
		}
	}
	return line{}, found, false
}

func parseHead(head []byte) (l line, ok bool) {
	fields := strings.Split(string(head), "/")
	if len(fields) != 5 {
		return line{}, false
	}
	var err error
	if l.number, err = strconv.ParseUint(fields[0], 10, 64); err != nil {
		return line{}, false
	}
	var kind string
	if kind, l.Damaged = strings.CutSuffix(fields[1], damagedMark); len(kind) != 1 || !Kind(kind[0]).known() {
		return line{}, false
	}
	l.Kind = Kind(kind[0])
	if l.Seq, err = strconv.ParseUint(fields[2], 10, 64); err != nil {
		return line{}, false
	}
	if l.Chat, err = url.QueryUnescape(fields[3]); err != nil {
		return line{}, false
	}
	l.ID, err = url.QueryUnescape(fields[4])
	return l, err == nil
}

// torn reports whether the end of a file, after its last line, is the beginning
// of a line that was cut off. If the end of a whole line is damaged, it is not.
func torn(tail []byte) bool {
	fields := bytes.Split(tail, []byte{' '})
	return len(fields) < 6 || len(fields) == 6 && len(fields[5]) <= 2*crc32.Size
}

// endOf reports whether a text is the end of the line that has a head of this
// sum: the line was damaged by the end of a line within it.
func endOf(sum, text []byte) bool {
	last := text[bytes.LastIndexByte(text, ' ')+1:]
	return len(text) == 0 || sum != nil && bytes.HasSuffix(sum, last)
}
