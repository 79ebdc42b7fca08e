package shellfacts

import (
	"slices"
	"strings"
)

// sed walks sed: its script may write files, and run commands.
func (l *launch) sed(s *spec) {
	options, operands, _ := s.parse(l, l.args, false)
	given := l.effects(s, options)
	var scripts []value
	inPlace, suffix := false, ""
	for _, o := range options {
		switch {
		case o.effect == 'e':
			scripts = append(scripts, o.value)
		case o.effect == 'f':
			l.files()
			if o.value.text == "-" || strings.HasPrefix(o.value.text, "/dev/") || !o.value.lit {
				l.note("", "sed runs a script that is not known")
			}
		case o.name == "i", o.name == "in-place":
			inPlace, suffix = true, o.value.text
		}
	}
	if !given && len(operands) > 0 {
		scripts = append(scripts, operands[0])
		operands = operands[1:]
		// On some systems the suffix is the next word.
		if inPlace && len(operands) > 1 {
			if _, ok := sedScript(scripts[0].text); !ok || scripts[0].text == "" {
				scripts = append(scripts, operands[0])
			}
		}
	} else if !given && l.appended {
		l.note("", "sed runs a script that is not known")
	}
	var whole strings.Builder
	for _, script := range scripts {
		if !script.lit {
			l.note(script.text, " is a script of sed")
			continue
		}
		whole.WriteString(script.text + "\n")
	}
	writes, ok := sedScript(whole.String())
	if !ok {
		l.note(whole.String(), " is a script of sed that may run something")
	}
	for _, name := range writes {
		l.write(l.sc, literal(name), false)
	}
	if l.appended {
		l.note("", "what "+l.through[len(l.through)-1]+" appends may be options of sed")
	}
	for _, v := range operands {
		l.read(l.sc, v)
		if !inPlace {
			continue
		}
		l.change(l.sc, v, false)
		if strings.ContainsAny(suffix, "*/") {
			l.note(suffix, " names the copies that sed makes")
		} else if suffix != "" && v.lit {
			l.change(l.sc, literal(v.text+suffix), false)
		}
	}
}

// sedScript returns the files that a script of sed writes. It returns false if the
// script runs commands, or is not understood by every sed alike.
func sedScript(text string) (writes []string, ok bool) {
	p := &sedParser{rest: text}
	for p.command() {
	}
	return p.writes, p.rest == "" && !p.failed
}

type sedParser struct {
	rest   string
	writes []string
	failed bool
}

func (p *sedParser) fail() bool {
	p.failed = true
	return false
}

func (p *sedParser) blanks(set string) { p.rest = strings.TrimLeft(p.rest, set) }

func (p *sedParser) line() string {
	line, rest, _ := strings.Cut(p.rest, "\n")
	p.rest = rest
	return line
}

// command reads one command, and returns false at the end and on failure.
func (p *sedParser) command() bool {
	p.blanks(" \t\n;")
	for range 2 {
		if !p.address() {
			return p.fail()
		}
		p.blanks(" \t")
		if !strings.HasPrefix(p.rest, ",") {
			break
		}
		p.rest = p.rest[1:]
		p.blanks(" \t+~")
	}
	p.blanks(" \t!")
	if p.rest == "" {
		return false
	}
	c := p.rest[0]
	p.rest = p.rest[1:]
	switch c {
	case '{', '}':
		return true
	case '#':
		p.line()
		return true
	case '=', 'd', 'D', 'g', 'G', 'h', 'H', 'n', 'N', 'p', 'P', 'x', 'z', 'F', 'l', 'q', 'Q':
		if strings.IndexByte("lqQ", c) >= 0 {
			p.blanks(" 0123456789")
		}
		p.blanks(" \t")
		return p.rest == "" || strings.IndexByte("\n;}#", p.rest[0]) >= 0 || p.fail()
	case 'a', 'i', 'c':
		for strings.HasSuffix(p.line(), "\\") {
		}
		return true
	case ':', 'b', 't', 'T':
		at := strings.IndexAny(p.rest, "\n;}")
		if at < 0 {
			at = len(p.rest)
		}
		p.rest = p.rest[at:]
		return true
	case 'r', 'R':
		p.line()
		return true
	case 'w', 'W':
		p.writes = append(p.writes, strings.TrimLeft(p.line(), " \t"))
		return true
	case 's', 'y':
		return p.substitution(c)
	}
	return p.fail()
}

func (p *sedParser) address() bool {
	switch {
	case p.rest == "":
	case p.rest[0] == '$':
		p.rest = p.rest[1:]
	case p.rest[0] >= '0' && p.rest[0] <= '9':
		p.blanks("0123456789~")
	case p.rest[0] == '/' || p.rest[0] == '\\':
		p.rest = strings.TrimPrefix(p.rest, "\\")
		if p.rest == "" {
			return false
		}
		delimiter := p.rest[0]
		p.rest = p.rest[1:]
		if !p.until(delimiter, true) {
			return false
		}
		p.blanks("IM")
	}
	return true
}

// until skips to behind a delimiter. Some seds find none in brackets, and others do.
func (p *sedParser) until(delimiter byte, pattern bool) bool {
	if delimiter == '\n' || delimiter == '\\' || delimiter == '[' || delimiter == ']' {
		return false
	}
	open := false
	for i := 0; i < len(p.rest); i++ {
		switch c := p.rest[i]; {
		case c == delimiter:
			p.rest = p.rest[i+1:]
			return !open
		case c == '\\' && !open:
			i++
		case c == '\\' && pattern && i+1 < len(p.rest) && p.rest[i+1] == delimiter:
			return false
		case c == '[' && pattern && !open:
			open = true
			if strings.HasPrefix(p.rest[i+1:], "^") {
				i++
			}
			if strings.HasPrefix(p.rest[i+1:], "]") {
				i++
			}
		case c == '[' && open && strings.HasPrefix(p.rest[i+1:], ":"):
			end := strings.Index(p.rest[i:], ":]")
			if end < 0 {
				return false
			}
			if strings.IndexByte(p.rest[i:i+end], delimiter) >= 0 {
				return false
			}
			i += end + 1
		case c == ']' && open:
			open = false
		}
	}
	return false
}

func (p *sedParser) substitution(c byte) bool {
	if p.rest == "" {
		return p.fail()
	}
	delimiter := p.rest[0]
	p.rest = p.rest[1:]
	if !p.until(delimiter, c == 's') || !p.until(delimiter, false) {
		return p.fail()
	}
	if c == 's' {
		p.blanks("gpiImM0123456789")
		if strings.HasPrefix(p.rest, "w") {
			p.rest = p.rest[1:]
			p.writes = append(p.writes, strings.TrimLeft(p.line(), " \t"))
			return true
		}
	}
	p.blanks(" \t")
	return p.rest == "" || strings.IndexByte("\n;}#", p.rest[0]) >= 0 || p.fail()
}

// awk walks awk: its program may run commands and write files, unless it has none of
// the words for it.
func (l *launch) awk(s *spec) {
	options, operands, _ := s.parse(l, l.args, true)
	if l.effects(s, options) {
		l.files()
		if slices.ContainsFunc(options, func(o given) bool {
			return o.effect == 'f' && (!o.value.lit || o.value.text == "-" || strings.HasPrefix(o.value.text, "/dev/"))
		}) {
			l.note("", "awk runs a program that is not known")
		}
	} else if len(operands) > 0 {
		if !operands[0].lit || !calm(operands[0].text) {
			l.note(operands[0].text, " is a program of awk that may run or write something")
		}
		operands = operands[1:]
	} else if l.appended {
		l.note("", "awk runs a program that is not known")
	}
	for _, v := range operands {
		l.read(l.sc, v)
	}
}

// calm reports whether a program of awk only computes and prints.
func calm(program string) bool {
	for _, word := range []string{"system", "getline", "@", "\\\n", "/inet", "PROCINFO"} {
		if strings.Contains(program, word) {
			return false
		}
	}
	return !strings.Contains(strings.ReplaceAll(program, "||", ""), "|") && !(strings.Contains(program, ">") && strings.Contains(program, "print"))
}
