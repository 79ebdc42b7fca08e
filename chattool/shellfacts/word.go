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

// special reports whether a word is a file that is none on a disk, such as the input.
func (v value) special() bool {
	return strings.HasPrefix(v.text, "/dev/") || strings.HasPrefix(v.text, "/proc/") || v.text == "-"
}

// A speller puts a value together from the parts of a word.
type speller struct {
	*walker
	b       strings.Builder
	unknown bool   // what follows is known no more
	many    bool   // there may be several words, or none
	apart   bool   // and these begin with anything
	head    string // what there was before unknown, or before an open brace
	braces  bool
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
	around := w.sc
	w.sc = sc
	s := &speller{walker: w}
	for i, part := range word.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			s.unquoted(lit.Value, i == 0)
		} else {
			s.part(part, false)
		}
	}
	w.sc = around
	if !s.unknown {
		return literal(s.b.String())
	}
	if s.apart {
		s.head = ""
	}
	return value{text: w.written(word), head: s.head, many: s.many}
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
	begin, end := int(n.Pos().Offset()), int(n.End().Offset())
	if begin >= end || end > len(w.unit.text) {
		return "?"
	}
	return w.unit.text[begin:end]
}

// loses is called when the rest of a word is not known.
func (s *speller) loses(many bool) {
	if !s.unknown && !s.braces {
		s.head = s.b.String()
	}
	s.unknown, s.many = true, s.many || many
}

func (s *speller) part(part syntax.WordPart, quoted bool) {
	switch part := part.(type) {
	case *syntax.Lit: // in double quotes
		for text := part.Value; text != ""; text = text[1:] {
			if len(text) > 1 && text[0] == '\\' && strings.IndexByte("$`\"\\", text[1]) >= 0 {
				text = text[1:]
			}
			s.b.WriteByte(text[0])
		}
		return
	case *syntax.SglQuoted:
		if part.Dollar && strings.Contains(part.Value, `\`) {
			s.loses(false)
		}
		s.b.WriteString(part.Value)
		return
	case *syntax.DblQuoted:
		if part.Dollar {
			s.loses(false)
		}
		for _, inner := range part.Parts {
			s.part(inner, true)
		}
		return
	case *syntax.ParamExp:
		if number(part) {
			s.b.WriteString("0") // it begins with a digit
			s.loses(false)
			return
		}
	}
	s.expansion(part)
	p, ok := part.(*syntax.ParamExp)
	_, substitutes := part.(*syntax.CmdSubst)
	every := !quoted && (ok || substitutes) || ok && (p.Index != nil || p.Excl || p.Param != nil && p.Param.Value == "@")
	s.loses(every)
	s.apart = s.apart || every
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
		case '*', '?', '[':
			if text != "[" && text != "[[" {
				s.loses(true)
			}
		case '<', '>':
			if strings.HasPrefix(text[i+1:], "(") && !s.posix {
				s.note(text, " has a command that bash runs and the parser does not see")
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
				s.loses(true)
			}
		}
		s.b.WriteByte(text[i])
	}
}

// number reports whether an expansion is a number of the shell's own.
func number(p *syntax.ParamExp) bool {
	return p.Length && (p.Index == nil || whole(p.Index)) ||
		p.Param != nil && strings.Contains("#?$!", p.Param.Value) && p.Index == nil && !p.Excl && p.Slice == nil && p.Repl == nil && p.Exp == nil && p.Names == 0
}

// expansion walks all that an expansion runs.
func (w *walker) expansion(part syntax.WordPart) {
	switch part := part.(type) {
	case *syntax.CmdSubst:
		w.stmts(part.Stmts, w.sc.clone())
	case *syntax.ProcSubst:
		w.stmts(part.Stmts, w.sc.clone())
	case *syntax.ArithmExp:
		w.arithmetic(part.X)
	case *syntax.ParamExp:
		w.parameter(part)
	case *syntax.Lit:
	default:
		w.note(w.written(part), " can be read in several ways")
	}
}

// parameter walks all that the expansion of a parameter runs.
func (w *walker) parameter(p *syntax.ParamExp) {
	if p.Excl && p.Names == 0 && !whole(p.Index) {
		w.note(w.written(p), " expands a name that a variable has")
	}
	if p.Index != nil && !whole(p.Index) {
		w.arithmetic(p.Index)
	}
	if p.Slice != nil {
		w.arithmetic(p.Slice.Offset)
		w.arithmetic(p.Slice.Length)
	}
	if p.Repl != nil {
		w.word(p.Repl.Orig, w.sc)
		w.word(p.Repl.With, w.sc)
	}
	if p.Exp != nil {
		v := w.word(p.Exp.Word, w.sc)
		switch p.Exp.Op {
		case syntax.OtherParamOps:
			w.note(w.written(p), " may run what a variable has")
		case syntax.AssignUnset, syntax.AssignUnsetOrNull:
			w.assigns(p.Param.Value, v)
		}
	}
}

// whole reports whether an index stands for all elements of an array.
func whole(index syntax.ArithmExpr) bool {
	word, ok := index.(*syntax.Word)
	return ok && (word.Lit() == "@" || word.Lit() == "*")
}

// arithmetic walks an expression. In bash, the value of a variable in it is an
// expression as well, and the index of an array in that one is expanded, with
// commands: x='a[$(ls)]'; echo $((x)) runs ls. So only numbers are known.
func (w *walker) arithmetic(x syntax.ArithmExpr) {
	if x == nil {
		return
	}
	syntax.Walk(x, func(n syntax.Node) bool {
		word, ok := n.(*syntax.Word)
		if ok {
			w.word(word, w.sc)
			w.evaluated(word)
			w.assigns(word.Lit(), value{}) // it may be
		}
		return !ok
	})
}

// evaluated is called for a word that bash evaluates as an expression.
func (w *walker) evaluated(n syntax.Node) {
	if word, ok := n.(*syntax.Word); ok && len(word.Parts) == 1 {
		part := word.Parts[0]
		if q, ok := part.(*syntax.DblQuoted); ok && len(q.Parts) == 1 {
			part = q.Parts[0]
		}
		if _, ok := part.(*syntax.ArithmExp); ok || digits(word.Lit()) {
			return // it has been walked by itself
		}
		if p, ok := part.(*syntax.ParamExp); ok && number(p) {
			return
		}
	}
	if !w.posix {
		w.note(w.written(n), " is evaluated as an expression, in which an index may run commands")
	}
}

// condition walks what stands in [[ and ]].
func (w *walker) condition(x syntax.TestExpr) {
	syntax.Walk(x, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.BinaryTest:
			if n.Op >= syntax.TsEql && n.Op <= syntax.TsGtr {
				w.evaluated(n.X)
				w.evaluated(n.Y)
			}
		case *syntax.UnaryTest:
			if word, ok := n.X.(*syntax.Word); (n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar) && !(ok && identifier(word.Lit())) {
				w.note(w.written(n), " expands an index")
			}
		case *syntax.Word:
			w.word(n, w.sc)
			return false
		}
		return true
	})
}
