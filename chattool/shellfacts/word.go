package shellfacts

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

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

// A speller puts a value together from the parts of a word.
type speller struct {
	*walker
	sc      *scope
	b       strings.Builder
	unknown bool   // what follows is known no more
	many    bool   // there may be several words, or none
	apart   bool   // and these begin with anything
	head    string // what there was before unknown
	braces  bool   // a brace stands open
}

// word returns what is known of a word. It walks all that the word runs.
func (w *walker) word(word *syntax.Word, sc *scope) value {
	if word == nil {
		return literal("")
	}
	w.step()
	if len(word.Parts) == 1 { // as most words are
		if lit, ok := word.Parts[0].(*syntax.Lit); ok && plain(lit.Value) {
			return literal(lit.Value)
		}
	}
	s := &speller{walker: w, sc: sc}
	for i, part := range word.Parts {
		s.part(part, i == 0)
	}
	return s.value(w.written(word))
}

func (s *speller) value(written string) value {
	if !s.unknown {
		return literal(s.b.String())
	}
	if s.apart {
		s.head = ""
	}
	return value{text: written, head: s.head, many: s.many}
}

// plain reports whether an unquoted text stands for itself.
func plain(s string) bool {
	for i := range len(s) {
		c := s[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.IndexByte("-_./,:%@+=", c) >= 0) {
			return false
		}
	}
	return s != ""
}

// written returns the source of a node.
func (w *walker) written(n syntax.Node) string {
	text := w.unit.text
	begin, end := int(n.Pos().Offset()), int(n.End().Offset())
	if begin >= end || end > len(text) {
		return "?"
	}
	return text[begin:end]
}

// loses is called when the rest of a word is not known.
func (s *speller) loses(many bool) {
	if !s.unknown && !s.braces {
		s.head = s.b.String()
	}
	s.unknown, s.many = true, s.many || many
}

func (s *speller) part(part syntax.WordPart, first bool) {
	switch part := part.(type) {
	case *syntax.Lit:
		s.unquoted(part.Value, first)
	case *syntax.SglQuoted:
		text := part.Value
		if part.Dollar {
			var ok bool
			if text, ok = ansi(text); !ok {
				s.loses(false)
			}
		}
		s.b.WriteString(text)
	case *syntax.DblQuoted:
		if part.Dollar {
			s.loses(false)
		}
		for _, inner := range part.Parts {
			s.quoted(inner)
		}
	case *syntax.ProcSubst:
		s.loses(false)
		s.stmts(part.Stmts, s.sc.clone())
	case *syntax.ExtGlob:
		s.loses(true)
		s.note("", "bash may read a pattern in parentheses in two ways")
	case *syntax.ParamExp:
		if text, ok := s.known(part); ok && plain(text) {
			s.b.WriteString(text)
			return
		}
		if number(part) {
			s.b.WriteString("0") // it begins with a digit
			s.loses(false)
			return
		}
		s.expansion(part)
		s.loses(true)
		s.apart = true
	case *syntax.CmdSubst:
		s.expansion(part)
		s.loses(true)
		s.apart = true
	default:
		s.expansion(part)
		s.loses(false)
	}
}

// quoted is part for a part in double quotes.
func (s *speller) quoted(part syntax.WordPart) {
	switch part := part.(type) {
	case *syntax.Lit:
		for text := part.Value; text != ""; text = text[1:] {
			if len(text) > 1 && text[0] == '\\' && strings.IndexByte("$`\"\\", text[1]) >= 0 {
				text = text[1:]
			}
			s.b.WriteByte(text[0])
		}
	case *syntax.ParamExp:
		if text, ok := s.known(part); ok {
			s.b.WriteString(text)
			return
		}
		if number(part) {
			s.b.WriteString("0")
			s.loses(false)
			return
		}
		s.expansion(part)
		every := part.Param != nil && (part.Param.Value == "@" || part.Index != nil || part.Excl)
		s.loses(every)
		s.apart = s.apart || every
	default:
		s.expansion(part)
		s.loses(false)
	}
}

// unquoted reads the text of a word that stands in no quotes.
func (s *speller) unquoted(text string, first bool) {
	if first && strings.HasPrefix(text, "~") {
		s.unknown, s.head = true, "/"
	}
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '\\':
			if i++; i == len(text) {
				s.b.WriteByte(c)
				return
			}
		case '*', '?':
			s.loses(true)
		case '[':
			if text != "[" && text != "[[" {
				s.loses(true)
			}
		case '~':
			if i > 0 && (text[i-1] == '=' || text[i-1] == ':') {
				s.loses(false)
			}
		case '{':
			if !s.unknown && !s.braces {
				s.head = s.b.String()
			}
			s.braces = !s.posix
		case ',', '.':
			if s.braces && (c == ',' || strings.HasPrefix(text[i:], "..")) {
				s.unknown, s.many = true, true // the head is what there was before the brace
			}
		}
		s.b.WriteByte(text[i])
	}
}

// ansi returns the text of $'…' if it has none but the usual escapes.
func ansi(text string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		c := text[i]
		if c == '\\' {
			if i++; i == len(text) {
				return "", false
			}
			at := strings.IndexByte("nt\\'\"e", text[i])
			if at < 0 {
				return "", false
			}
			c = "\n\t\\'\"\x1b"[at]
		}
		b.WriteByte(c)
	}
	return b.String(), true
}

// number reports whether an expansion is a number of the shell's own.
func number(p *syntax.ParamExp) bool {
	if p.Param == nil || p.Index != nil || p.Excl || p.Slice != nil || p.Repl != nil || p.Exp != nil {
		return false
	}
	if p.Length {
		return true
	}
	switch p.Param.Value {
	case "#", "?", "$", "!":
		return true
	}
	return false
}

// known returns the value of a variable that has only one.
func (s *speller) known(p *syntax.ParamExp) (string, bool) {
	if p.Param == nil || p.Index != nil || p.Excl || p.Length || p.Slice != nil || p.Repl != nil || p.Exp != nil || p.Names != 0 {
		return "", false
	}
	text, ok := s.unit.values[p.Param.Value]
	return text, ok
}

// expansion walks all that an expansion runs.
func (w *walker) expansion(part syntax.WordPart) {
	sc := w.sc
	switch part := part.(type) {
	case *syntax.CmdSubst:
		w.stmts(part.Stmts, sc.clone())
	case *syntax.ArithmExp:
		w.arithmetic(part.X)
	case *syntax.ParamExp:
		w.parameter(part)
	case *syntax.ProcSubst:
		w.stmts(part.Stmts, sc.clone())
	case *syntax.DblQuoted:
		for _, inner := range part.Parts {
			w.expansion(inner)
		}
	case *syntax.Lit, *syntax.SglQuoted:
	default:
		w.note(w.written(part), " could not be read")
	}
}

// parameter walks all that the expansion of a parameter runs.
func (w *walker) parameter(p *syntax.ParamExp) {
	sc := w.sc
	if p.Flags != nil || p.NestedParam != nil || len(p.Modifiers) > 0 || p.Width || p.IsSet {
		w.note(w.written(p), " could not be read")
	}
	if p.Excl && p.Names == 0 && !whole(p.Index) {
		w.note(w.written(p), " expands a name that a variable has")
	}
	if p.Index != nil && !whole(p.Index) {
		w.index(p.Index)
	}
	if p.Slice != nil {
		w.arithmetic(p.Slice.Offset)
		w.arithmetic(p.Slice.Length)
	}
	if p.Repl != nil {
		w.word(p.Repl.Orig, sc)
		w.word(p.Repl.With, sc)
	}
	if p.Exp == nil {
		return
	}
	v := w.word(p.Exp.Word, sc)
	switch p.Exp.Op {
	case syntax.OtherParamOps:
		if v.text != "Q" {
			w.note(w.written(p), " may run what a variable has")
		}
	case syntax.AssignUnset, syntax.AssignUnsetOrNull:
		w.assigns(p.Param.Value, v)
	}
}

// whole reports whether an index stands for all elements of an array.
func whole(index syntax.ArithmExpr) bool {
	word, ok := index.(*syntax.Word)
	return ok && (word.Lit() == "@" || word.Lit() == "*")
}
