package shellfacts

import (
	"path"
	"slices"
	"strings"
)

// A walker gathers the facts of a command, in the order in which the shell may run it.
type walker struct {
	facts Facts
	deep  int // how many texts, groups and programs are within each other here
}

// A scope is the state of one shell process.
type scope struct {
	dir  string // the current directory, from the one in which the command starts
	lost bool   // it is not known
}

func (sc *scope) clone() *scope { c := *sc; return &c }

// either notes that the directory is the one before, or still this one.
func (sc *scope) either(before scope) { sc.lost = sc.lost || *sc != before }

// note adds a reason for which the facts are not complete. A few of them are enough for a
// person.
func (w *walker) note(subject, why string) {
	if why = quoted(subject) + why; !slices.Contains(w.facts.Why, why) && len(w.facts.Why) < maxWhy {
		w.facts.Why = append(w.facts.Why, why)
	}
}

// deeper calls inner for what is within something else. It returns false if that is too
// deep.
func (w *walker) deeper(inner func()) bool {
	if w.deep >= maxDeep {
		w.note("", "the command is nested too deep")
		return false
	}
	w.deep++
	inner()
	w.deep--
	return true
}

// shell walks a text that a shell of its own runs, which some programs start.
func (w *walker) shell(text, name string, sc *scope, through []string) {
	if !slices.Contains([]string{"bash", "rbash", "dash", "sh", "ash"}, name) {
		w.note("", "the language of the shell "+name+" is not known")
	}
	if why := strange(text); why != "" {
		w.note("", why)
		return
	}
	r := &reader{walker: w, text: text, through: through}
	w.deeper(func() { r.list(sc, true, "") })
	if len(r.documents) > 0 {
		r.stop(r.documents[0], " does not end the here-document")
	}
}

// list reads commands up to one of the words that may end them, and takes that. "" is
// the end of the text. top says that nothing has run before in this process.
func (r *reader) list(sc *scope, top bool, ends ...string) string {
	for {
		r.newlines()
		for _, end := range ends {
			if end == "" && r.at == len(r.text) || end == ")" && r.take(end) || end != "" && r.takeWord(end) {
				return end
			}
		}
		if r.at == len(r.text) {
			r.stop("", "the command ends too early")
			return ""
		}
		background := r.chain(sc, top)
		top = false
		if r.blanks(); !background && r.at < len(r.text) && r.peek(0) != '\n' && r.peek(0) != ')' && (!r.take(";") || r.ahead(";")) {
			r.unreadable()
		}
	}
}

// chain reads pipelines with && and || between them. It reports whether a & is behind
// them, and takes that.
func (r *reader) chain(sc *scope, top bool) (background bool) {
	before := *sc
	if !top || !r.cd(sc) {
		r.pipeline(sc)
	}
	for {
		r.blanks()
		switch {
		case r.take("&&"):
		case r.take("||"):
			sc.either(before)
		case r.ahead("&") && !r.ahead("&>"):
			r.at++
			*sc = before // another process has changed its own
			return true
		default:
			sc.either(before)
			return false
		}
		r.newlines()
		r.pipeline(sc)
	}
}

// cd reads a change of the directory, if it is one that is allowed: by its literal
// name and followed by &&, so that it is known where it holds.
func (r *reader) cd(sc *scope) bool {
	begin := r.at
	if r.takeWord("cd") {
		to, raw := r.word()
		if r.blanks(); raw != "" && to.lit && to.text != "" && to.text[0] != '-' && r.ahead("&&") {
			l := &launch{walker: r.walker, sc: sc, through: r.through, args: []value{to}}
			l.add("cd")
			l.known()
			sc.enter(to.text)
			return true
		}
	}
	if !r.stopped {
		r.at = begin
	}
	return false
}

// enter changes the directory.
func (sc *scope) enter(name string) {
	if path.IsAbs(name) {
		sc.dir, sc.lost = "", false
	}
	dir := below(sc.dir, name)
	sc.lost = sc.lost || returns(dir)
	if sc.dir = path.Clean(dir); sc.dir == "." {
		sc.dir = ""
	}
}

// returns reports whether a path goes up again from a directory that it names. If that
// is a symbolic link, and there is no directory by the names alone, bash changes to where
// the link leads.
func returns(name string) bool {
	named := false
	for part := range strings.SplitSeq(name, "/") {
		if part == ".." && named {
			return true
		}
		named = named || strings.Trim(part, ".") != "" || len(part) > 2
	}
	return false
}

func (r *reader) pipeline(sc *scope) {
	if r.bare() == "!" {
		r.at++
	}
	for {
		r.command(sc)
		if r.blanks(); !r.ahead("|") || r.ahead("||") {
			return
		}
		if r.at++; r.ahead("&") {
			r.unreadable()
		}
		r.newlines()
	}
}

// command reads a simple command, a group, a condition or a loop.
func (r *reader) command(sc *scope) {
	within := func(sc *scope, top bool, ends ...string) (end string) {
		if !r.deeper(func() { end = r.list(sc, top, ends...) }) {
			r.stop("", "the command is nested too deep")
		}
		return end
	}
	list := func(ends ...string) string { return within(sc, false, ends...) }
	switch word := r.bare(); {
	case r.ahead("("):
		if r.at++; r.ahead("(") {
			r.unreadable()
		}
		within(sc.clone(), true, ")")
	case word == "{":
		r.at++
		list("}")
	case r.takeWord("if"):
		end := "elif"
		for end == "elif" {
			list("then")
			end = list("elif", "else", "fi")
		}
		if end == "else" {
			list("fi")
		}
	case r.takeWord("while"), r.takeWord("until"):
		list("do")
		list("done")
	case r.takeWord("for"):
		r.loop()
		list("done")
	default:
		r.simple(sc)
		return
	}
	for r.redirect(sc) {
	}
}

// loop reads what stands between for and its commands.
func (r *reader) loop() {
	name := r.bare()
	if r.at += len(name); strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") != "" || !r.takeWord("in") {
		r.stop(name, " is not the beginning of a loop over words, by a variable of small letters")
	}
	for raw := " "; raw != ""; {
		_, raw = r.word()
	}
	if r.blanks(); r.take(";") || r.newline() {
		if r.newlines(); r.takeWord("do") {
			return
		}
	}
	r.unreadable()
}

// simple reads a simple command, and walks it.
func (r *reader) simple(sc *scope) {
	r.blanks()
	l := &launch{walker: r.walker, sc: sc, through: r.through, reader: r}
	var words []value
	redirected := false
	for {
		if r.redirect(sc) {
			redirected = true
			continue
		}
		v, raw := r.word()
		if raw == "" {
			break
		}
		if len(words) == 0 && raw != v.text {
			v = value{text: raw, head: v.head}
		}
		words = append(words, v)
	}
	switch {
	case len(words) > 0:
		if redirected && words[0].text == "exit" {
			r.note("exit", " has a redirection")
		}
		l.run(words)
	case !redirected:
		r.unreadable()
	}
}
