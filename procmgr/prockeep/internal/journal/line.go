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
	body := base64.RawStdEncoding.AppendEncode(nil, l.Record)
	return append(bytes.Join([][]byte{head, sum(head), body, sum(head, []byte{' '}, body)}, []byte{' '}), '\n')
}

// parse reads a line without its end. known says that its head can be read, and whole
// that all of it can; if only the head can, the line is Damaged.
func parse(text []byte) (l line, known, whole bool) {
	fields := bytes.Split(text, []byte{' '})
	if len(fields) != 4 || !bytes.Equal(fields[1], sum(fields[0])) {
		return line{}, false, false
	}
	if l, known = parseHead(fields[0]); !known {
		return line{}, false, false
	}
	if bytes.Equal(fields[3], sum(fields[0], []byte{' '}, fields[2])) {
		if body, err := base64.RawStdEncoding.DecodeString(string(fields[2])); err == nil {
			l.Record = body
			return l, true, true
		}
	}
	l.Damaged = true
	return l, true, false
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
	return len(fields) < 4 || len(fields) == 4 && len(fields[3]) <= 2*crc32.Size
}
