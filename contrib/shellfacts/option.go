package shellfacts

import "strings"

// A spec is what is known of a program. Its options are words of these forms:
//
//	-abc        short options
//	-o:         a short option with a value, in the same word or the next
//	-o?         a short option whose value can only be in the same word
//	--name      a long option, and with : or ? one with a value, as above
//
// behind which one letter can say what the option does:
//
//	w r         it writes its value, or reads it
//	e           it gives an expression, which is no operand then
//	f           it gives an expression by a file that it reads
//	!           it runs or writes what is not known
//
// operands says what the operands are, one letter for each and the last for the rest:
// w, r and ! as above, "m" for what it changes even if that is /dev/null, "-" for no
// file, "e" for an expression unless an option has given it, "x" for a command with its
// arguments, and "+" for a format that begins with +. A name stands for a function in this package.
type spec struct {
	free     bool // no option of it runs or writes anything
	files    bool // it runs what files say
	never    bool // it is never known what it does
	plus     bool // an operand ends the options
	apart    bool // the value of a short option is the next word, or digits
	short    map[byte]option
	long     map[string]option
	operands string
}

type option struct {
	value  byte // ':' if it has one, '?' if it may have one, else 0
	effect byte // or 0
}

// A flag is an option of a command.
type flag struct {
	name   string
	effect byte
	value  value
}

func parseSpec(options string) *spec {
	s := &spec{short: make(map[byte]option), long: make(map[string]option)}
	for field := range strings.FieldsSeq(options) {
		var o option
		if at := strings.IndexAny(field, ":?"); at > 0 {
			o.value = field[at]
			if at+1 < len(field) {
				o.effect = field[at+1]
			}
			field = field[:at]
		} else if field[len(field)-1] == '!' {
			o.effect = '!'
			field = field[:len(field)-1]
		}
		if long, ok := strings.CutPrefix(field, "--"); ok {
			s.long[long] = o
			continue
		}
		for i := 1; i < len(field); i++ {
			s.short[field[i]] = o
		}
	}
	return s
}

// parse takes the options from words, as getopt does.
func (l *launch) parse(s *spec, args []value) (options []flag, operands []value) {
	next := func() (v value) {
		if len(args) == 0 {
			v = value{text: "?"}
		} else {
			v, args = args[0], args[1:]
		}
		if v.many && !s.free {
			l.note(v.text, " may become several words, some of them options of "+l.name)
		}
		return v
	}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case arg.lit && arg.text == "--":
			return options, append(operands, args...)
		case !arg.lit || !arg.option():
			if !s.free && !arg.lit && arg.option() {
				l.note(arg.text, " may be an option of "+l.name)
			}
			if operands = append(operands, arg); s.plus {
				return options, append(operands, args...)
			}
		case strings.HasPrefix(arg.text, "--"):
			name, text, has := strings.Cut(arg.text[2:], "=")
			o, found := s.long[name]
			if !found || has && o.value == 0 {
				l.unclear(arg, "an option")
				continue
			}
			g := flag{name: name, effect: o.effect, value: literal(text)}
			if o.value == ':' && !has {
				g.value = next()
			}
			options = append(options, g)
		default:
			for letters := arg.text[1:]; letters != ""; {
				letter := letters[0]
				letters = letters[1:]
				o, found := s.short[letter]
				if !found || s.apart && o.value != 0 && letters != "" && !digits(letters) {
					l.unclear(arg, "an option")
					break
				}
				g := flag{name: string(letter), effect: o.effect}
				switch {
				case o.value != 0 && letters != "":
					g.value, letters = literal(letters), ""
				case o.value == ':':
					g.value = next()
				}
				options = append(options, g)
			}
		}
	}
	return options, operands
}

// spec walks a program that is in the table.
func (l *launch) spec(s *spec) {
	if l.appended != "" && !s.free && !s.plus {
		l.note("", "what "+l.appended+" appends may be options or files of "+l.name)
	}
	if l.special(s) {
		return
	}
	options, operands := l.parse(s, l.args)
	expression := l.effects(options)
	l.operands(s.operands, operands, expression)
}

// effects applies what options do. It reports whether one gave an expression.
func (l *launch) effects(options []flag) (expression bool) {
	for _, o := range options {
		switch o.effect {
		case 'w':
			l.write(l.sc, o.value)
		case 'r', 'f':
			l.read(l.sc, o.value)
		case '!':
			l.note("", "an option of "+l.name+", "+o.name+", runs or writes what is not known")
		}
		expression = expression || o.effect == 'e' || o.effect == 'f'
	}
	return expression
}

// operands applies what operands are.
func (l *launch) operands(letters string, operands []value, expression bool) {
	if expression {
		letters = strings.TrimPrefix(letters, "e")
	}
	if runs := strings.IndexByte(letters, 'x'); runs >= len(operands) {
		l.starts(nil, l.appended)
	}
	for i, v := range operands {
		letter := letters[0]
		if len(letters) > 1 {
			letters = letters[1:]
			if v.many && strings.ContainsAny(letters, "wmx") {
				l.note(v.text, " may become several words, and "+l.name+" writes or runs one of them")
			}
		}
		switch letter {
		case 'x':
			l.starts(operands[i:], l.appended)
			return
		case '+':
			if !strings.HasPrefix(v.text, "+") && !strings.HasPrefix(v.head, "+") {
				l.unclear(v, "an operand")
			}
		case 'r':
			l.read(l.sc, v)
		case 'w':
			l.write(l.sc, v)
		case 'm':
			l.change(l.sc, v)
		case '!':
			l.unclear(v, "an operand")
		}
	}
}
