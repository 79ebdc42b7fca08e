package shellfacts

import (
	"path"
	"strings"
)

// A spec is what is known of a program. Its options are words of these forms:
//
//	-abc        short options
//	-o:         a short option with a value, in the same word or the next
//	-o?         a short option whose value can only be in the same word
//	--name      a long option, and with : or ? one with a value, as above
//
// behind which one letter can say what the option does:
//
//	w a m       it writes its value, appends to it, or changes the file itself
//	r           it reads its value
//	e           it gives an expression, which is no operand then
//	f           it gives an expression by a file that it reads
//	d           it changes the directory
//	!           it runs or writes what is not known
//	.           the program looks at it
//
// operands says what the operands are, one letter for each and the last for the rest:
// the letters above, "-" for no file, "e" for an expression unless an option has given
// it, and "x" for a command with its arguments. A name is that of a function.
type spec struct {
	name     string
	free     bool   // no option of it runs or writes anything
	files    bool   // it runs what files say
	never    string // why it is never known what it does
	plus     bool   // an operand ends the options
	short    map[byte]option
	long     map[string]option
	operands string
}

type option struct {
	value  byte // ':' if it has one, '?' if it may have one, else 0
	effect byte // or 0
}

// A given is an option of a command.
type given struct {
	name   string
	effect byte
	value  value
}

func parseSpec(name, options string) *spec {
	s := &spec{name: name, short: make(map[byte]option), long: make(map[string]option)}
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

// parse takes the options from the arguments of a command, as getopt does. It returns
// false if one of them is not known.
func (s *spec) parse(l *launch, args []value, plus bool) (options []given, operands []value, ok bool) {
	ok = true
	unknown := func(v value) {
		ok = false
		l.note(v.text, " is an option of "+s.name+" that is not known")
	}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		switch {
		case !arg.lit:
			if !s.free && arg.option() {
				ok = false
				l.note(arg.text, " may be an option of "+s.name)
			}
			operands = append(operands, arg)
		case arg.text == "--":
			return options, append(operands, args...), ok
		case !arg.option():
			operands = append(operands, arg)
		case strings.HasPrefix(arg.text, "--"):
			name, text, has := strings.Cut(arg.text[2:], "=")
			name, o, found := s.find(name)
			if !found || has && o.value == 0 {
				unknown(arg)
				continue
			}
			g := given{name: name, effect: o.effect, value: literal(text)}
			if o.value == ':' && !has {
				g.value, args = l.next(s, args)
			}
			options = append(options, g)
		default:
			for letters := arg.text[1:]; letters != ""; {
				letter := letters[0]
				letters = letters[1:]
				o, found := s.short[letter]
				if !found {
					unknown(arg)
					break
				}
				g := given{name: string(letter), effect: o.effect}
				switch {
				case o.value != 0 && letters != "":
					g.value, letters = literal(letters), ""
				case o.value == ':':
					g.value, args = l.next(s, args)
				}
				options = append(options, g)
			}
		}
		if plus && len(operands) > 0 {
			return options, append(operands, args...), ok
		}
	}
	return options, operands, ok
}

// next returns the value of an option from the next word.
func (l *launch) next(s *spec, args []value) (value, []value) {
	if len(args) == 0 {
		if l.appended && !s.free {
			l.note("", "the last option of "+s.name+" has a value that is not known")
		}
		return value{text: "?"}, nil
	}
	if args[0].many && !s.free {
		l.note(args[0].text, " may become several words, some of them options of "+s.name)
	}
	return args[0], args[1:]
}

// find finds a long option by its name or the beginning of it. If it is the beginning
// of several, the program refuses it, or one of them is it.
func (s *spec) find(name string) (full string, found option, ok bool) {
	if o, ok := s.long[name]; ok {
		return name, o, true
	}
	for long, o := range s.long {
		if name != "" && strings.HasPrefix(long, name) {
			if full != "" && o != found {
				return "", option{}, false
			}
			full, found = long, o
		}
	}
	return full, found, full != ""
}

// spec walks a program whose options are known.
func (l *launch) spec(s *spec) {
	if l.special(s) {
		return
	}
	options, operands, _ := s.parse(l, l.args, s.plus)
	expression := l.effects(s, options)
	if l.appended {
		operands = append(operands, value{text: "the words of " + l.through[len(l.through)-1], many: true})
		if !s.free {
			l.note("", "what "+l.through[len(l.through)-1]+" appends may be options of "+s.name)
		}
	}
	l.operands(s, operands, expression)
}

// effects applies what options do. It reports whether one gave an expression.
func (l *launch) effects(s *spec, options []given) (expression bool) {
	for _, o := range options {
		switch o.effect {
		case 'w', 'a':
			l.write(l.sc, o.value, o.effect == 'a')
		case 'm':
			l.change(l.sc, o.value, false)
		case 'r':
			l.read(l.sc, o.value)
		case 'f':
			l.read(l.sc, o.value)
			expression = true
		case 'e':
			expression = true
		case 'd':
			l.chdir(l.sc, o.value, true)
			l.sc.cwd = l.sc.then
		case '!':
			l.note("", "an option of "+s.name+", "+o.name+", runs or writes what is not known")
		}
	}
	return expression
}

// operands applies what operands are.
func (l *launch) operands(s *spec, operands []value, expression bool) {
	letters := s.operands
	if expression {
		letters = strings.TrimPrefix(letters, "e")
	}
	for i, v := range operands {
		if letters == "" {
			l.note(v.text, " is an operand of "+s.name+" that is not known")
			return
		}
		letter := letters[0]
		if len(letters) > 1 {
			letters = letters[1:]
			if v.many && strings.ContainsAny(letters, "wmx") {
				l.note(v.text, " may become several words, and "+s.name+" writes or runs one of them")
			}
		}
		switch letter {
		case 'x':
			l.starts(operands[i:], false, false, l.appended)
			return
		case 'r':
			l.read(l.sc, v)
		case 'w', 'a':
			l.write(l.sc, v, letter == 'a')
		case 'm':
			l.change(l.sc, v, false)
		case '!':
			l.note(v.text, " is an operand of "+s.name+" that is not known")
		}
	}
}

// copied walks cp, mv, ln and install: the last operand is written, or what an option
// names.
func (l *launch) copied(s *spec) {
	options, operands, _ := s.parse(l, l.args, false)
	l.effects(s, options)
	var into *value
	whole := false
	for _, o := range options {
		switch o.name {
		case "t", "target-directory":
			into = &o.value
		case "d", "directory":
			whole = s.name == "install"
		}
	}
	if l.appended {
		l.note("", s.name+" writes what "+l.through[len(l.through)-1]+" appends")
		return
	}
	if whole {
		for _, v := range operands {
			l.change(l.sc, v, false)
		}
		return
	}
	if into == nil && len(operands) > 1 {
		into = &operands[len(operands)-1]
		operands = operands[:len(operands)-1]
	}
	if into == nil && s.name == "ln" && len(operands) == 1 {
		into = &value{text: ".", lit: true}
	}
	for _, v := range operands {
		if s.name == "mv" {
			l.change(l.sc, v, false)
		}
		l.read(l.sc, v)
	}
	if into == nil {
		return
	}
	below := into.text == "." || into.text == ".." || strings.HasSuffix(into.text, "/") || strings.HasSuffix(into.text, "/..") || strings.HasSuffix(into.text, "/.") || len(operands) > 1
	for _, o := range options {
		below = below || o.name == "t" || o.name == "target-directory"
	}
	if !below || !into.lit {
		l.change(l.sc, *into, false)
		return
	}
	for _, v := range operands {
		if !v.lit {
			v = value{text: into.text + "/" + v.text}
		} else {
			v = literal(strings.TrimSuffix(into.text, "/") + "/" + path.Base(v.text))
		}
		l.change(l.sc, v, false)
	}
}

// teed is for tee, whose option decides what happens to its operands.
func (l *launch) teed(s *spec) {
	options, operands, _ := s.parse(l, l.args, false)
	appends := false
	for _, o := range options {
		appends = appends || o.name == "a" || o.name == "append"
	}
	for _, v := range operands {
		l.write(l.sc, v, appends)
	}
	if l.appended {
		l.note("", "tee writes what "+l.through[len(l.through)-1]+" appends")
	}
}
