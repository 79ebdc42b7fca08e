package shellfacts

import (
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// A walker walks a command in the order in which the shell may run it, and gathers
// the facts.
type walker struct {
	facts  Facts
	posix  bool // the language is that of POSIX, and not of bash
	steps  int  // that may still be taken
	nested int  // how many texts and functions are being walked, each within the next
	line   int  // of the statement
	unit   *unit
	sc     *scope // of the statement
}

// A scope is the state of one shell process.
type scope struct {
	cwd  []string // the directories that may be the current one; nil if it is not known
	then []string // those after the last command if it succeeded
}

func (sc *scope) clone() *scope { return &scope{cwd: sc.cwd, then: sc.cwd} }

// both returns the directories of two ways that a command may go.
func both(a, b []string) []string {
	const most = 4
	if all := union(slices.Clone(a), b); a != nil && b != nil && len(all) <= most {
		return all
	}
	return nil
}

// note tells why the facts are not complete.
func (w *walker) note(subject, why string) { w.facts.note(quoted(subject) + why) }

// step bounds the work, since functions can call each other twice.
func (w *walker) step() bool {
	if w.steps--; w.steps < 0 {
		w.note("", "the command does too much to follow")
	}
	return w.steps >= 0
}

// within calls inner for a text or a function within another, unless they are nested
// too deep.
func (w *walker) within(inner func()) {
	if w.nested >= maxNested {
		w.note("", "the command is nested too deep")
		return
	}
	w.nested++
	inner()
	w.nested--
}

// shell walks a text that a shell of its own runs, or with a parent, that the shell
// of the text around it runs.
func (w *walker) shell(text string, sc *scope, parent *unit) {
	file, why := parse(text, w.posix)
	if why != "" {
		w.note("", why)
		return
	}
	u, shallow := survey(text, file)
	if !shallow {
		w.note("", "the command is nested too deep")
		return
	}
	u.parent, u.line = parent, w.line // 0 in the command itself
	for name := range u.funcs {
		if parent != nil || slices.Contains(specialBuiltins, name) || strings.Contains(name, "/") {
			w.note(name, " is a function, and it is not known where it is one")
		}
	}
	around, line := w.unit, w.line
	w.unit = u
	w.within(func() { w.stmts(file.Stmts, sc) })
	w.unit, w.line = around, line
}

func (w *walker) stmts(stmts []*syntax.Stmt, sc *scope) {
	for _, stmt := range stmts {
		w.stmt(stmt, sc)
	}
}

func (w *walker) stmt(stmt *syntax.Stmt, sc *scope) {
	if !w.step() {
		return
	}
	if stmt.Background || stmt.Coprocess || stmt.Disown {
		sc = sc.clone()
	}
	around, line := w.sc, w.line
	w.sc, w.line = sc, w.unit.line
	if w.line == 0 {
		w.line = int(stmt.Pos().Line())
	}
	sc.then = sc.cwd
	if call, ok := stmt.Cmd.(*syntax.CallExpr); ok {
		w.call(call, stmt.Redirs, sc)
	} else {
		w.redirects(stmt.Redirs, sc)
		w.command(stmt.Cmd, sc)
	}
	if stmt.Negated {
		sc.then = sc.cwd
	}
	w.sc, w.line = around, line
}

func (w *walker) command(cmd syntax.Command, sc *scope) {
	switch cmd := cmd.(type) {
	case nil:
	case *syntax.BinaryCmd:
		w.chain(cmd, sc)
	case *syntax.Block:
		w.stmts(cmd.Stmts, sc)
	case *syntax.Subshell:
		w.stmts(cmd.Stmts, sc.clone())
	case *syntax.IfClause, *syntax.WhileClause, *syntax.ForClause, *syntax.CaseClause:
		w.branches(cmd, sc)
	case *syntax.FuncDecl:
		if cmd.Name == nil {
			w.note(w.written(cmd), " is a function without a name, which the parser alone can read")
			return
		}
		_, block := cmd.Body.Cmd.(*syntax.Block)
		_, subshell := cmd.Body.Cmd.(*syntax.Subshell)
		if !block && !subshell || cmd.Body.Background || cmd.Body.Negated {
			w.note(w.written(cmd), " is a function whose end shells see in different places")
		}
		w.unit.made[cmd.Name.Value] = w.unit.made[cmd.Name.Value] || w.unit.sure[cmd]
	case *syntax.ArithmCmd:
		w.arithmetic(cmd.X)
	case *syntax.TestClause:
		w.condition(cmd.X)
	case *syntax.LetClause:
		w.note(w.written(cmd), " evaluates expressions, in which an index may run commands")
	case *syntax.DeclClause:
		w.declare(cmd, sc)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			w.stmt(cmd.Stmt, sc)
		}
	case *syntax.CoprocClause:
		if w.stmt(cmd.Stmt, sc.clone()); cmd.Name != nil {
			w.assigns(cmd.Name.Lit(), value{})
		}
	default:
		w.note(w.written(cmd), " could not be read")
	}
}

// chain walks a && b, a || b and a | b. They nest to the left and may be as many as
// the text has room for, so there is no recursion to the left.
func (w *walker) chain(cmd *syntax.BinaryCmd, sc *scope) {
	links := []*syntax.BinaryCmd{cmd}
	for {
		x := links[len(links)-1].X
		next, ok := x.Cmd.(*syntax.BinaryCmd)
		if !ok || x.Negated || len(x.Redirs) > 0 {
			break
		}
		links = append(links, next)
	}
	if first := links[len(links)-1]; first.Op == syntax.Pipe || first.Op == syntax.PipeAll {
		w.stmt(first.X, sc.clone())
	} else {
		w.stmt(first.X, sc)
	}
	for _, link := range slices.Backward(links) {
		switch all := sc.cwd; link.Op {
		case syntax.AndStmt:
			sc.cwd = sc.then
			w.stmt(link.Y, sc)
			sc.cwd = both(all, sc.cwd)
		case syntax.OrStmt:
			succeeded := sc.then
			w.stmt(link.Y, sc)
			if call, ok := link.Y.Cmd.(*syntax.CallExpr); ok && len(call.Args) > 0 && len(call.Args) <= 2 && call.Args[0].Lit() == "exit" && !link.Y.Background {
				sc.cwd, sc.then = succeeded, succeeded
			} else {
				sc.then = both(succeeded, sc.then)
			}
		default:
			if _, times := link.Y.Cmd.(*syntax.TimeClause); times {
				w.note(w.written(link.Y), " is a program behind a |, and no word of the shell")
			}
			w.stmt(link.Y, sc.clone())
			sc.then = sc.cwd
		}
	}
}

// branches walks what may or may not run, and may run again. If it may change the
// directory, that is not known any more.
func (w *walker) branches(cmd syntax.Command, sc *scope) {
	syntax.Walk(cmd, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			name := call.Args[0].Lit()
			if slices.Contains([]string{"cd", "pushd", "popd", "eval", "source", ".", "builtin", "command", ""}, name) || len(w.functions(name)) > 0 {
				sc.cwd = nil
			}
		}
		return sc.cwd != nil
	})
	syntax.Walk(cmd, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Stmt:
			w.stmt(n, sc)
			return false
		case *syntax.Word:
			w.word(n, sc)
			return false
		case *syntax.WordIter:
			w.assigns(n.Name.Value, value{})
		case *syntax.CStyleLoop:
			w.arithmetic(n.Init)
			w.arithmetic(n.Cond)
			w.arithmetic(n.Post)
			return false
		}
		return true
	})
	sc.then = sc.cwd
}

// redirects walks redirections.
func (w *walker) redirects(redirs []*syntax.Redirect, sc *scope) {
	for _, r := range redirs {
		if r.N != nil && strings.HasPrefix(r.N.Value, "{") {
			w.assigns(strings.Trim(r.N.Value, "{}"), value{})
		}
		if r.Op == syntax.Hdoc || r.Op == syntax.DashHdoc {
			w.document(r)
			continue
		}
		v := w.word(r.Word, sc)
		if !w.posix && (strings.HasPrefix(v.text, "/dev/tcp/") || strings.HasPrefix(v.text, "/dev/udp/")) {
			w.note(v.text, " is a connection that bash makes")
		}
		switch fd := strings.TrimSuffix(v.text, "-"); r.Op {
		case syntax.WordHdoc:
		case syntax.RdrIn:
			w.read(sc, v)
		case syntax.DplIn, syntax.DplOut:
			if !v.lit || fd != "" && !digits(fd) {
				w.write(sc, v, false)
			}
		default:
			if r.Op == syntax.RdrInOut {
				w.read(sc, v)
			}
			w.write(sc, v, r.Op == syntax.AppOut || r.Op == syntax.AppAll || r.Op == syntax.RdrInOut)
		}
	}
}

// document walks a here-document.
func (w *walker) document(r *syntax.Redirect) {
	end := w.written(r.Word)
	unquoted := strings.Trim(end, `'"`)
	if !plain(unquoted) || end != unquoted && (len(end) != len(unquoted)+2 || end[0] != end[len(end)-1]) {
		w.note(end, " ends a here-document, and shells differ in what it is")
	}
	if r.Hdoc == nil || end != unquoted {
		return
	}
	if strings.Contains(w.written(r.Hdoc), "\\\n") {
		w.note("", "a line of a here-document goes on in the next")
	}
	for _, part := range r.Hdoc.Parts {
		w.expansion(part)
	}
}

// call walks a simple command: its words first, as the shell does.
func (w *walker) call(call *syntax.CallExpr, redirs []*syntax.Redirect, sc *scope) {
	args := make([]value, 0, len(call.Args))
	for _, arg := range call.Args {
		args = append(args, w.word(arg, sc))
	}
	for _, a := range call.Assigns {
		w.assign(a, sc)
	}
	w.redirects(redirs, sc)
	if len(args) > 0 {
		l := &launch{walker: w, sc: sc, shell: true, functions: true}
		l.run(args)
	}
}

func (w *walker) assign(a *syntax.Assign, sc *scope) value {
	v := w.word(a.Value, sc)
	if a.Index != nil {
		w.arithmetic(a.Index)
	}
	if a.Array != nil {
		v = value{}
		for _, elem := range a.Array.Elems {
			if elem.Index != nil {
				w.arithmetic(elem.Index)
			}
			w.word(elem.Value, sc)
		}
	}
	w.assigns(a.Name.Value, v)
	return v
}

// declare walks export, declare and their like.
func (w *walker) declare(cmd *syntax.DeclClause, sc *scope) {
	args := []value{literal(cmd.Variant.Value)}
	for _, a := range cmd.Args {
		if a.Name == nil {
			args = append(args, w.word(a.Value, sc))
			continue
		}
		v := w.assign(a, sc)
		if a.Array == nil && !v.lit && (w.unit.arrays || w.unit.parent != nil) {
			w.note(w.written(a), " may be an array whose elements are expanded")
		}
		switch text := a.Name.Value + "="; {
		case a.Naked:
			args = append(args, literal(a.Name.Value))
		case v.lit && a.Array == nil:
			args = append(args, literal(text+v.text))
		default:
			args = append(args, value{text: w.written(a), head: text})
		}
	}
	l := &launch{walker: w, sc: sc, shell: true}
	l.run(args)
}

// functions returns the definitions that a name may have.
func (w *walker) functions(name string) []*syntax.FuncDecl {
	var all []*syntax.FuncDecl
	for u := w.unit; u != nil; u = u.parent {
		all = append(all, u.funcs[name]...)
	}
	return all
}

// invoke walks the functions of a name. It returns false if the name may also be that
// of a program.
func (w *walker) invoke(name string, sc *scope) bool {
	funcs := w.functions(name)
	if len(funcs) == 0 {
		return false
	}
	before := sc.cwd
	after := before
	for _, f := range funcs {
		inner := &scope{cwd: before, then: before}
		w.within(func() { w.stmt(f.Body, inner) })
		after = both(after, inner.cwd)
	}
	sc.cwd, sc.then = after, after
	for u := w.unit; u != nil; u = u.parent {
		if u.made[name] {
			return true
		}
	}
	return false
}

// chdir changes the directory, and gives both cases to what follows.
func (w *walker) chdir(sc *scope, to value, physical bool) {
	var dirs []string
	switch {
	case !to.lit, to.text == "", to.text == "-", physical && strings.Contains(to.text, ".."):
	case path.IsAbs(to.text):
		dirs = []string{path.Clean(to.text)}
	default:
		for _, dir := range sc.cwd {
			if dir = path.Clean(below(dir, to.text)); dir == "." {
				dir = ""
			}
			dirs = append(dirs, dir)
		}
	}
	sc.then, sc.cwd = dirs, both(dirs, sc.cwd)
}
