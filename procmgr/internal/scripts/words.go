package scripts

import "strings"

// maxCommand is the longest command that split looks at, in bytes.
const maxCommand = 4 << 10

// A word is a word of a command, without its quotes.
type word struct {
	text string
	// known is false if the shell would change the word: it has a variable,
	// a pattern or braces.
	known bool
}

func (w word) is(text string) bool { return w.known && w.text == text }

// option returns the word if it is an option, or "".
func (w word) option() string {
	if w.known && len(w.text) > 1 && w.text[0] == '-' {
		return w.text
	}
	return ""
}

// A simple is a simple command. The operator before it sets the other fields.
type simple struct {
	words []word
	// maybe is set after ||: the command runs only if something has failed.
	maybe bool
	// apart is set if the command runs in a shell of its own, as in a
	// pipeline.
	apart bool
}

// A lexer splits a command.
type lexer struct {
	rest string
	done []simple
	next simple
	// text and known belong to the word that is being read. open is set
	// while there is one.
	text        []byte
	known, open bool
	// target is set if the next word is the target of a redirection.
	target bool
}

// split returns the simple commands of a command, or nil if they are not
// certain.
func split(command string) []simple {
	if len(command) > maxCommand {
		return nil
	}
	l := lexer{rest: command}
	for l.rest != "" {
		if !l.step() {
			return nil
		}
	}
	l.end("")
	return l.done
}

// step reads the next character, and reports whether the command is still
// certain.
func (l *lexer) step() bool {
	c := l.rest[0]
	l.rest = l.rest[1:]
	switch c {
	case ' ', '\t', '\r':
		l.endWord()
	case '\n', ';':
		l.end("")
	case '&':
		if strings.HasPrefix(l.rest, ">") {
			l.endWord() // the next > is a redirection
			break
		}
		l.end("&" + l.operator("&"))
	case '|':
		l.end("|" + l.operator("|&"))
	case '<', '>':
		return l.redirect(c)
	case '\'':
		quoted, rest, ok := strings.Cut(l.rest, "'")
		l.add(quoted)
		l.rest = rest
		return ok
	case '"':
		return l.double()
	case '\\':
		if l.rest == "" {
			return false
		}
		if l.rest[0] != '\n' {
			l.add(l.rest[:1])
		}
		l.rest = l.rest[1:]
	case '#':
		if l.open {
			l.add("#")
			break
		}
		if i := strings.IndexByte(l.rest, '\n'); i >= 0 {
			l.rest = l.rest[i:]
		} else {
			l.rest = ""
		}
	case '$', '`':
		return l.expand(c)
	case '(', ')':
		return false
	case '*', '?', '[', '{':
		l.add(string(c))
		l.known = false
	case '~':
		l.add("~")
		l.known = l.known && len(l.text) > 1
	default:
		l.add("")
		l.text = append(l.text, c)
	}
	return true
}

// operator takes the next byte if it is one of rest, and returns it.
func (l *lexer) operator(rest string) string {
	if l.rest == "" || strings.IndexByte(rest, l.rest[0]) < 0 {
		return ""
	}
	c := l.rest[:1]
	l.rest = l.rest[1:]
	return c
}

// expand reads a $ or a `, in quotes or not. It reports false for a command
// substitution: its output is not known, and it may run anything.
func (l *lexer) expand(c byte) bool {
	l.add("$")
	l.known = false
	return c == '$' && !strings.HasPrefix(l.rest, "(")
}

// double reads the text in double quotes.
func (l *lexer) double() bool {
	l.add("")
	for l.rest != "" {
		c := l.rest[0]
		l.rest = l.rest[1:]
		switch c {
		case '"':
			return true
		case '$', '`':
			if !l.expand(c) {
				return false
			}
			continue
		case '\\':
			if l.rest != "" && strings.IndexByte("$`\"\\\n", l.rest[0]) >= 0 {
				c = l.rest[0]
				l.rest = l.rest[1:]
				if c == '\n' {
					continue
				}
			}
		}
		l.text = append(l.text, c)
	}
	return false
}

// redirect reads a redirection. A here-document is too much for this lexer.
func (l *lexer) redirect(c byte) bool {
	if l.open && l.known && strings.Trim(string(l.text), "0123456789") == "" {
		l.open, l.text = false, l.text[:0] // the word was a descriptor
	}
	l.endWord()
	if c == '<' && strings.HasPrefix(l.rest, "<") {
		return false
	}
	l.rest = strings.TrimLeft(l.rest, ">&|")
	l.target = true
	return true
}

// add appends text to the word that is being read.
func (l *lexer) add(text string) {
	if !l.open {
		l.open, l.known = true, true
	}
	l.text = append(l.text, text...)
}

func (l *lexer) endWord() {
	if !l.open {
		return
	}
	if !l.target {
		l.next.words = append(l.next.words, word{text: string(l.text), known: l.known})
	}
	l.open, l.target, l.text = false, false, l.text[:0]
}

// end ends a simple command at an operator.
func (l *lexer) end(operator string) {
	l.endWord()
	l.target = false
	pipe := operator == "|" || operator == "|&"
	l.next.apart = l.next.apart || pipe || operator == "&"
	if len(l.next.words) > 0 {
		l.done = append(l.done, l.next)
	}
	l.next = simple{maybe: operator == "||", apart: pipe}
}
