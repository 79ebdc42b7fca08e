package procfile

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A window is the part of a text that a result has. It takes the text as it comes.
type window struct {
	from  int64 // the first line of it, from 1 on
	limit int   // how many lines
	set   secrets
	// beside is how much of a text before and behind the window, and behind the part of
	// a line that is shown, is searched for values that are masked, in bytes.
	beside int

	at   int64  // the line that the next byte is in
	raw  []byte // what is kept: some text before the window, its lines, and some text behind them
	rows []row
	open bool // the last of rows goes on
	size int  // what the lines take in a result, in bytes
	full bool // no further line begins
	tail int  // how much of raw is behind the lines
}

// A row is a line of a window.
type row struct {
	start, end int   // in raw
	len        int64 // in the file, without the line end
}

// newWindow returns the window with so many lines from one on.
func newWindow(from int64, limit int, set secrets) *window {
	return &window{from: from, limit: limit, set: set, beside: max(min(set.longest(), 64<<10), utf8.UTFMax), at: 1}
}

// take takes the next part of the text. It reports whether the window needs no more.
func (w *window) take(part []byte) (done bool) {
	for len(part) > 0 {
		if w.full {
			n := min(w.beside-w.tail, len(part))
			w.raw, w.tail = append(w.raw, part[:n]...), w.tail+n
			return w.tail >= w.beside
		}
		end := bytes.IndexByte(part, '\n')
		whole := end >= 0
		if !whole {
			end = len(part) - 1
		}
		line := part[:end+1]
		part = part[end+1:]
		if w.at < w.from {
			w.before(line)
		} else {
			w.keep(line, whole)
		}
		if whole {
			w.at++
		}
	}
	return false
}

// before keeps the end of what comes before the window.
func (w *window) before(text []byte) {
	w.raw = append(w.raw, text[max(len(text)-w.beside, 0):]...)
	if n := len(w.raw) - w.beside; n > chunk {
		w.raw = append(w.raw[:0], w.raw[n:]...)
	}
}

// keep keeps a line, or a part of one.
func (w *window) keep(line []byte, whole bool) {
	if !w.open {
		w.rows, w.open = append(w.rows, row{start: len(w.raw), end: len(w.raw)}), true
	}
	r := &w.rows[len(w.rows)-1]
	text := line
	if whole {
		text = line[:len(line)-1]
	}
	r.len += int64(len(text))
	if room := MaxLine + w.beside - (len(w.raw) - r.start); room > 0 {
		w.raw = append(w.raw, line[:min(room, len(line))]...)
		r.end = min(len(w.raw), r.start+int(min(r.len, int64(len(w.raw)-r.start))))
	}
	if !whole {
		return
	}
	w.open = false
	if bytes.HasSuffix(w.raw[r.start:r.end], []byte{'\r'}) && int64(r.end-r.start) == r.len {
		r.end--
		r.len--
	}
	number := w.from + int64(len(w.rows)) - 1
	w.size += int(min(r.len, MaxLine)) + cost(number)
	w.full = len(w.rows) == w.limit || w.size >= MaxText
}

// cost is how many bytes a line takes in a result besides its text.
func cost(number int64) int { return len(strconv.FormatInt(number, 10)) + len("\t\n") }

// lines returns the lines of the window, which has taken the whole text.
func (w *window) lines() (lines []Line, redacted []string, invalid bool) {
	if w.open {
		w.size += int(min(w.rows[len(w.rows)-1].len, MaxLine)) + cost(w.from+int64(len(w.rows))-1)
	}
	if w.size > MaxText && len(w.rows) > 1 { // the last one was too much
		w.rows = w.rows[:len(w.rows)-1]
	}
	lines = make([]Line, 0, len(w.rows))
	spans := w.set.find(w.raw)
	for _, r := range w.rows {
		end := min(r.end, r.start+MaxLine)
		if int64(end-r.start) < r.len { // a rune is not cut
			for end > r.start && !utf8.RuneStart(w.raw[end]) {
				end--
			}
		}
		var b strings.Builder
		at := r.start
		for _, s := range spans {
			if s.to <= r.start || s.from >= end {
				continue
			}
			b.Write(w.raw[at:max(at, s.from)])
			b.WriteString(marker(s.name))
			if !slices.Contains(redacted, s.name) {
				redacted = append(redacted, s.name)
			}
			at = min(s.to, r.end)
		}
		if at < end {
			b.Write(w.raw[at:end])
		}
		shown := max(at, end)
		text, bad := valid(b.String())
		invalid = invalid || bad
		lines = append(lines, Line{Text: text, Cut: r.len - int64(shown-r.start)})
	}
	return lines, redacted, invalid
}

// valid returns a text as it may be in a result.
func valid(text string) (string, bool) {
	if utf8.ValidString(text) && !strings.ContainsRune(text, 0) {
		return text, false
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		if r == 0 {
			r = utf8.RuneError
		}
		b.WriteRune(r)
		i += size
	}
	return b.String(), true
}

// isBinary reports whether the lines are no text, although the beginning of the file
// may be.
func (w *window) isBinary() bool {
	bad, all := 0, 0
	for _, r := range w.rows {
		text := w.raw[r.start:min(r.end, r.start+MaxLine)]
		bad, all = bad+odd(text), all+len(text)
	}
	return bad*10 > all*3 && bad > 64
}
