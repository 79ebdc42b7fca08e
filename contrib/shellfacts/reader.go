package shellfacts

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A reader reads the text of one shell. It knows the syntax that is allowed and no
// other: at anything else it stops, with the reason.
type reader struct {
	*walker
	through []string // the programs that start the shell
	text    string
	at      int

	stopped   bool
	documents []string // the ends of here-documents whose text begins at the next line
}

// stop ends the reading. Only the first reason counts: the others follow from it.
func (r *reader) stop(subject, why string) {
	if !r.stopped {
		r.note(subject, why)
	}
	r.stopped, r.at, r.documents = true, len(r.text), nil
}

// unreadable stops at a place that the allowed syntax has no room for.
func (r *reader) unreadable() {
	begin := r.at
	for begin > 0 && begin > r.at-20 && r.text[begin-1] != '\n' {
		begin--
	}
	rest, _, _ := strings.Cut(r.text[r.at:], "\n")
	r.stop(strings.ToValidUTF8(r.text[begin:r.at]+rest, ""), ": this cannot be read, or is more than is read")
}

// strange returns why a text may not be what it looks like. Shells differ in what they
// make of such characters.
func strange(text string) string {
	if len(text) > maxText {
		return "the command is too long"
	}
	if !utf8.ValidString(text) {
		return "the command is not valid UTF-8"
	}
	for _, r := range text {
		if !strings.ContainsRune("\n\t ", r) && (unicode.IsControl(r) || unicode.IsSpace(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)) {
			return "the command has a control character or a space that is none for the shell"
		}
	}
	return ""
}

// peek returns the byte at an offset from here, or 0 behind the end.
func (r *reader) peek(offset int) byte {
	if r.at+offset < len(r.text) {
		return r.text[r.at+offset]
	}
	return 0
}

// ahead reports whether a text is next.
func (r *reader) ahead(text string) bool { return strings.HasPrefix(r.text[r.at:], text) }

// take takes a text if it is next.
func (r *reader) take(text string) bool {
	if !r.ahead(text) {
		return false
	}
	r.at += len(text)
	return true
}

// blanks skips blanks, a comment, and the end of a line that goes on.
func (r *reader) blanks() {
	for {
		switch c := r.peek(0); {
		case c == ' ' || c == '\t':
			r.at++
		case c == '\\' && r.peek(1) == '\n' && r.at > 0 && strings.IndexByte(" \t", r.text[r.at-1]) >= 0:
			if r.at += 2; len(r.documents) > 0 || strings.IndexByte("#\\", r.peek(0)) >= 0 {
				r.stop("", "a line goes on in a way that shells may read differently")
			}
		case c == '#' && (r.at == 0 || delimits(r.text[r.at-1])):
			comment, _, _ := strings.Cut(r.text[r.at:], "\n")
			if r.at += len(comment); strings.HasSuffix(comment, `\`) {
				r.stop("", "a comment ends with a backslash")
			}
		default:
			return
		}
	}
}

// newline takes the end of a line, and the here-documents behind it.
func (r *reader) newline() bool {
	if r.blanks(); !r.take("\n") {
		return false
	}
	documents := r.documents
	r.documents = nil
	for _, end := range documents {
		for {
			if r.at == len(r.text) {
				r.stop(end, " does not end the here-document")
				return true
			}
			line, _, _ := strings.Cut(r.text[r.at:], "\n")
			if r.at = min(r.at+len(line)+1, len(r.text)); line == end {
				break
			}
		}
	}
	return true
}

func (r *reader) newlines() {
	for r.newline() {
	}
}

// delimits reports whether a byte ends a word.
func delimits(c byte) bool { return strings.IndexByte(" \t\n;&|()<>", c) >= 0 }

// bare returns the next word if it consists of nothing but its own letters, without
// taking it.
func (r *reader) bare() string {
	r.blanks()
	end := r.at
	for end < len(r.text) && !delimits(r.text[end]) {
		end++
	}
	return r.text[r.at:end]
}

// takeWord takes a reserved word.
func (r *reader) takeWord(word string) bool { return r.bare() == word && r.take(word) }

// A value is what is known of the words that a word of the shell becomes.
type value struct {
	text string // the word that the program gets; as the command writes it if lit is false
	lit  bool   // it becomes this one word
	head string // with what each of the words begins, if lit is false
	many bool   // it may become no word, or several
}

func literal(text string) value { return value{text: text, lit: true} }

// option reports whether one of the words may be an option.
func (v value) option() bool {
	if v.lit {
		return len(v.text) > 1 && v.text[0] == '-'
	}
	return v.head == "" || v.head[0] == '-'
}

// special reports whether a word may be a file that is none on a disk, such as the
// input.
func (v value) special() bool {
	return v.text == "-" || device(v.text) || !v.lit && device(v.head)
}

// A wordReader has a word while it is read.
type wordReader struct {
	b       strings.Builder
	unknown bool   // what follows is known no more
	head    string // what there was before
	many    bool
	brace   bool // one was opened
}

// loses notes that the rest is not known.
func (s *wordReader) loses(many bool) {
	if !s.unknown {
		s.unknown, s.head = true, s.b.String()
	}
	s.many = s.many || many
}

// splits is loses for an expansion that may become several words, which begin with
// anything.
func (s *wordReader) splits() {
	s.loses(true)
	s.head = ""
}

// word reads a word. raw is as the command writes it, and "" if there is none.
func (r *reader) word() (v value, raw string) {
	s := new(wordReader)
	r.blanks()
	begin := r.at
	for r.at < len(r.text) && !delimits(r.text[r.at]) {
		c := r.text[r.at]
		r.at++
		switch c {
		case '\'':
			quoted, _, closed := strings.Cut(r.text[r.at:], "'")
			r.quotes(&s.b, quoted, closed)
			r.at = min(r.at+1, len(r.text))
		case '"':
			r.double(s)
		case '`':
			r.stop("`", " is a substitution of a command")
		case '$':
			r.dollar(s, false)
		case '\\':
			if c := r.peek(0); c == 0 || c == '\n' {
				r.stop("", "a line goes on in the middle of a word")
				break
			}
			s.b.WriteByte(r.text[r.at])
			r.at++
		default:
			r.unquoted(s, c, begin)
			s.b.WriteByte(c)
		}
	}
	if raw = r.text[begin:r.at]; strings.HasSuffix(raw, "}") && (r.peek(0) == '<' || r.peek(0) == '>') {
		r.stop(raw, " is a redirection that sets a variable")
	}
	if s.unknown {
		return value{text: raw, head: s.head, many: s.many}, raw
	}
	return literal(s.b.String()), raw
}

// unquoted handles a byte that stands in no quotes.
func (r *reader) unquoted(s *wordReader, c byte, begin int) {
	first := r.at-1 == begin
	switch c {
	case '*', '?', '[':
		if !(first && c == '[' && (r.at == len(r.text) || delimits(r.text[r.at]))) {
			s.loses(true)
		}
	case '~':
		if last := r.text[max(r.at-2, 0)]; first {
			s.unknown, s.head = true, "/"
		} else if last == '=' || last == ':' {
			s.loses(false)
		}
	case '{':
		s.brace = true
	case ',', '.':
		if s.brace && (c == ',' || r.peek(0) == '.') { // a shell without braces takes it for one word
			s.splits()
		}
	}
}

// quotes adds what stands in quotes.
func (r *reader) quotes(b *strings.Builder, text string, closed bool) {
	b.WriteString(text)
	r.at += len(text)
	if !closed {
		r.stop("", "a quote is not closed")
	} else if len(r.documents) > 0 && strings.Contains(text, "\n") {
		r.stop("", "a quoted text is in the way of a here-document")
	}
}

// double reads what stands in double quotes.
func (r *reader) double(s *wordReader) {
	for {
		next := strings.IndexAny(r.text[r.at:], "\"\\$`")
		if next < 0 {
			next = len(r.text) - r.at
		}
		r.quotes(&s.b, r.text[r.at:r.at+next], r.at+next < len(r.text))
		c := r.peek(0)
		r.at = min(r.at+1, len(r.text))
		switch c {
		case '"', 0:
			return
		case '$':
			r.dollar(s, true)
		case '`':
			r.stop("`", " is a substitution of a command")
		default:
			switch c := r.peek(0); c {
			case '\n':
				r.stop("", "a line goes on in the middle of a word")
			case '$', '`', '"', '\\':
				s.b.WriteByte(c)
				r.at++
			default:
				s.b.WriteByte('\\')
			}
		}
	}
}

var variable = pattern(`^(?:[A-Za-z_][A-Za-z0-9_]*|[0-9!?$]|\{[A-Za-z_][A-Za-z0-9_]*\})`)

// dollar reads what follows a $.
func (r *reader) dollar(s *wordReader, quoted bool) {
	name := variable().FindString(r.text[r.at:])
	r.at += len(name)
	switch c := r.peek(0); {
	case name == "?" || name == "$": // a number
		s.b.WriteByte('0')
		s.loses(false)
	case name != "" && quoted:
		s.loses(false)
	case name != "":
		s.splits()
	case c == 0 || strings.IndexByte(" \t\n", c) >= 0 || quoted && strings.IndexByte(`"/|\).,;:%`, c) >= 0:
		s.b.WriteByte('$')
	default:
		r.stop("$"+r.text[r.at:min(r.at+20, len(r.text))], " is an expansion that is not read")
	}
}

// redirect reads a redirection. It returns false if there is none.
func (r *reader) redirect(sc *scope) bool {
	r.blanks()
	m := operator().FindString(r.text[r.at:])
	if m == "" {
		return false
	}
	r.at += len(m)
	fd, op := strings.TrimRight(m, "<>&-"), strings.TrimLeft(m, "0123456789")
	switch op {
	case "<<":
		end := delimiter().FindString(r.bare())
		if r.at += len(end); len(end) < 3 || end[0] != end[len(end)-1] || fd != "" && fd != "0" {
			r.stop("", "the end of a here-document is not quoted")
			return true
		}
		r.documents = append(r.documents, end[1:len(end)-1])
		return true
	case ">&":
		if to := r.bare(); fd != "0" && len(fd) < 2 && (r.take("1") || r.take("2")) && len(to) == 1 {
			return true
		}
	case "<", ">", ">>":
		v, raw := r.word()
		switch reads := op == "<"; {
		case raw == "":
		case !v.lit || v.text == "":
			r.stop(raw, " is the name of a file that is not known")
			return true
		case reads && (fd == "" || fd == "0"):
			r.read(sc, v)
			return true
		case !reads && slices.Contains([]string{"", "1", "2"}, fd):
			r.write(sc, v)
			return true
		}
	}
	r.stop(m, " is a redirection that is not read")
	return true
}

var (
	operator  = pattern(`^(?:[0-9]*(?:<<<|<<-?|<>|<&|<|>>|>\||>&|>)|&>>?)`)
	delimiter = pattern(`^(?:'[A-Za-z0-9_]+'|"[A-Za-z0-9_]+")$`)
)
