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
	sc     *scope          // of the statement
	outer  map[string]bool // variables that a text around this one assigns
}

// A scope is the state of one shell process.
type scope struct {
	cwd  []string // the directories that may be the current one; nil if it is not known
	then []string // those after the last command if it succeeded
}

func (sc *scope) clone() *scope { return &scope{cwd: sc.cwd, then: sc.then} }

// moves sets the directories, and what they are if the last command succeeded.
func (sc *scope) moves(to, otherwise []string) {
	sc.then = to
	sc.cwd = both(to, otherwise)
}

// both returns the directories of two ways that a command may go.
func both(a, b []string) []string {
	const most = 4
	if a == nil || b == nil {
		return nil
	}
	if slices.Equal(a, b) {
		return a
	}
	if all := union(slices.Clone(a), b); len(all) <= most {
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
		return false
	}
	return true
}

// enter bounds how deep texts and functions are nested. What it returns is called at
// the end of the inner one.
func (w *walker) enter() (leave func(), ok bool) {
	if w.nested >= maxNested {
		w.note("", "the command is nested too deep")
		return nil, false
	}
	w.nested++
	return func() { w.nested-- }, true
}

// shell walks a text that a shell of its own runs, or with a parent, that the shell
// of the text around it runs.
func (w *walker) shell(text string, sc *scope, parent *unit) {
	leave, ok := w.enter()
	if !ok {
		return
	}
	defer leave()
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
	u.parent = parent
	if w.unit != nil {
		u.line = w.line
		if parent == nil {
			outer := w.outer
			w.outer = make(map[string]bool)
			for name := range outer {
				w.outer[name] = true
			}
			for name := range w.unit.names {
				w.outer[name] = true
			}
			defer func() { w.outer = outer }()
		} else if len(u.funcs) > 0 {
			w.note("", "a text that is evaluated defines functions")
		}
	}
	for name := range u.funcs {
		if slices.Contains(specialBuiltins, name) || strings.Contains(name, "/") {
			w.note(name, " is a function, and shells differ in what its name means")
		}
	}
	around, line := w.unit, w.line
	w.unit = u
	defer func() { w.unit, w.line = around, line }()
	w.stmts(file.Stmts, sc)
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
	defer func() { w.sc, w.line = around, line }()
	w.sc = sc
	if w.unit.line == 0 {
		w.line = int(stmt.Pos().Line())
	} else {
		w.line = w.unit.line
	}
	if call, ok := stmt.Cmd.(*syntax.CallExpr); ok {
		sc.then = sc.cwd
		w.simple(call, stmt.Redirs, sc)
	} else {
		w.redirects(stmt.Redirs, sc)
		sc.then = sc.cwd
		w.command(stmt.Cmd, sc)
	}
	if stmt.Negated {
		sc.then = sc.cwd
	}
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
	case *syntax.IfClause:
		w.choice(cmd, sc)
	case *syntax.WhileClause:
		w.loop(cmd, sc, func(sc *scope) {
			w.stmts(cmd.Cond, sc)
			w.stmts(cmd.Do, sc)
		})
	case *syntax.ForClause:
		w.loop(cmd, sc, func(sc *scope) {
			switch loop := cmd.Loop.(type) {
			case *syntax.WordIter:
				for _, item := range loop.Items {
					w.word(item, sc)
				}
				w.assigns(loop.Name.Value, value{})
			case *syntax.CStyleLoop:
				w.arithmetic(loop.Init)
				w.arithmetic(loop.Cond)
				w.arithmetic(loop.Post)
			}
			w.stmts(cmd.Do, sc)
		})
	case *syntax.CaseClause:
		w.word(cmd.Word, sc)
		before := sc.clone()
		for _, item := range cmd.Items {
			for _, pattern := range item.Patterns {
				w.word(pattern, before)
			}
			branch := before.clone()
			branch.cwd = sc.cwd // with ;& it goes on from the branch before
			w.stmts(item.Stmts, branch)
			sc.cwd = both(sc.cwd, branch.cwd)
		}
		sc.then = sc.cwd
	case *syntax.FuncDecl:
		switch cmd.Body.Cmd.(type) {
		case *syntax.Block, *syntax.Subshell, *syntax.IfClause, *syntax.ForClause, *syntax.WhileClause, *syntax.CaseClause, *syntax.TestClause, *syntax.ArithmCmd:
		default:
			w.note(w.written(cmd), " is a function whose end shells see in different places")
		}
		if cmd.Name == nil || cmd.Body.Background || cmd.Body.Negated {
			w.note(w.written(cmd), " could not be read")
		} else if w.unit.sure[cmd] {
			w.unit.made[cmd.Name.Value] = true
		}
	case *syntax.ArithmCmd:
		w.arithmetic(cmd.X)
	case *syntax.TestClause:
		w.condition(cmd.X)
	case *syntax.LetClause:
		for _, x := range cmd.Exprs {
			w.arithmetic(x)
		}
	case *syntax.DeclClause:
		w.declare(cmd, sc)
	case *syntax.TimeClause:
		if cmd.Stmt != nil {
			w.stmt(cmd.Stmt, sc)
		}
	case *syntax.CoprocClause:
		w.stmt(cmd.Stmt, sc.clone())
		if cmd.Name != nil {
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
		next, ok := links[len(links)-1].X.Cmd.(*syntax.BinaryCmd)
		if !ok || links[len(links)-1].X.Negated || len(links[len(links)-1].X.Redirs) > 0 {
			break
		}
		links = append(links, next)
	}
	first := links[len(links)-1]
	piped := first.Op == syntax.Pipe || first.Op == syntax.PipeAll
	if piped {
		w.stmt(first.X, sc.clone())
	} else {
		w.stmt(first.X, sc)
	}
	for _, link := range slices.Backward(links) {
		switch link.Op {
		case syntax.AndStmt:
			failed := sc.cwd
			sc.cwd = sc.then
			w.stmt(link.Y, sc)
			sc.moves(sc.then, both(failed, sc.cwd))
		case syntax.OrStmt:
			succeeded := sc.then
			w.stmt(link.Y, sc)
			if leaves(link.Y) {
				sc.cwd, sc.then = succeeded, succeeded
			} else {
				sc.then = both(succeeded, sc.then)
			}
		default:
			w.stmt(link.Y, sc.clone())
			sc.then = sc.cwd
		}
	}
}

// leaves reports whether a statement ends the shell or the function.
func leaves(stmt *syntax.Stmt) bool {
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || stmt.Background || len(call.Args) == 0 {
		return false
	}
	name := call.Args[0].Lit()
	return name == "exit" && len(call.Args) <= 2
}

func (w *walker) choice(cmd *syntax.IfClause, sc *scope) {
	var after []string
	ended := false
	for next := cmd; next != nil; next = next.Else {
		sc.then = sc.cwd
		w.stmts(next.Cond, sc)
		branch := sc.clone()
		if len(next.Cond) > 0 {
			branch.cwd = sc.then
		} else {
			ended = true // the else
		}
		w.stmts(next.Then, branch)
		if next == cmd {
			after = branch.cwd
		} else {
			after = both(after, branch.cwd)
		}
	}
	if !ended {
		after = both(after, sc.cwd)
	}
	sc.cwd, sc.then = after, after
}

// loop walks what may run again. If it may change the directory, that is not known any
// more.
func (w *walker) loop(cmd syntax.Command, sc *scope, body func(*scope)) {
	syntax.Walk(cmd, func(n syntax.Node) bool {
		if call, ok := n.(*syntax.CallExpr); ok && len(call.Args) > 0 {
			switch name := call.Args[0].Lit(); name {
			case "cd", "pushd", "popd", "eval", "source", ".", "builtin", "command", "":
				sc.cwd = nil
			default:
				if len(w.functions(name)) > 0 {
					sc.cwd = nil
				}
			}
		}
		return true
	})
	inner := sc.clone()
	body(inner)
	sc.cwd = both(sc.cwd, inner.cwd)
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
		if r.Op == syntax.WordHdoc {
			continue
		}
		if !w.posix && (strings.HasPrefix(v.text, "/dev/tcp/") || strings.HasPrefix(v.text, "/dev/udp/")) {
			w.note(v.text, " is a connection that bash makes")
		}
		switch r.Op {
		case syntax.RdrIn:
			w.read(sc, v)
		case syntax.RdrOut, syntax.RdrClob, syntax.RdrAll:
			w.write(sc, v, false)
		case syntax.AppOut, syntax.AppAll:
			w.write(sc, v, true)
		case syntax.RdrInOut:
			w.read(sc, v)
			w.write(sc, v, true)
		case syntax.DplIn, syntax.DplOut:
			fd := strings.TrimSuffix(v.text, "-")
			switch {
			case v.lit && (fd == "" || digits(fd)):
			case !v.lit && digits(v.head):
			default:
				w.write(sc, v, false)
			}
		default:
			w.note(w.written(r), " could not be read")
		}
	}
}

// document walks a here-document.
func (w *walker) document(r *syntax.Redirect) {
	quoted := false
	for _, part := range r.Word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			if !plain(part.Value) {
				w.note(w.written(r.Word), " ends a here-document, and shells differ in what it is")
			}
		case *syntax.SglQuoted:
			quoted = true
			if part.Dollar || !plain(part.Value) {
				w.note(w.written(r.Word), " ends a here-document, and shells differ in what it is")
			}
		case *syntax.DblQuoted:
			quoted = true
			if lit, ok := (&syntax.Word{Parts: part.Parts}).Lit(), !part.Dollar; !ok || !plain(lit) {
				w.note(w.written(r.Word), " ends a here-document, and shells differ in what it is")
			}
		default:
			w.note(w.written(r.Word), " ends a here-document, and shells differ in what it is")
		}
	}
	if len(r.Word.Parts) != 1 {
		w.note(w.written(r.Word), " ends a here-document, and shells differ in what it is")
	}
	if r.Hdoc == nil || quoted {
		return
	}
	if strings.Contains(w.written(r.Hdoc), "\\\n") {
		w.note("", "a line of a here-document goes on in the next")
	}
	for _, part := range r.Hdoc.Parts {
		w.expansion(part)
	}
}

// simple walks a simple command: its words first, as the shell does.
func (w *walker) simple(call *syntax.CallExpr, redirs []*syntax.Redirect, sc *scope) {
	args := make([]value, 0, len(call.Args))
	for _, arg := range call.Args {
		args = append(args, w.word(arg, sc))
	}
	for _, a := range call.Assigns {
		v := w.assign(a, sc)
		if len(args) == 0 {
			w.sets(call, a.Name.Value, v)
		}
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
		w.index(a.Index)
	}
	if a.Array != nil {
		v = value{}
		for _, elem := range a.Array.Elems {
			if elem.Index != nil {
				w.index(elem.Index)
			}
			w.word(elem.Value, sc)
		}
	}
	if a.Append {
		v.lit = false
	}
	w.assigns(a.Name.Value, v)
	return v
}

// declare walks declare, export and their like.
func (w *walker) declare(cmd *syntax.DeclClause, sc *scope) {
	var args []value
	for _, a := range cmd.Args {
		switch {
		case a.Name == nil:
			args = append(args, w.word(a.Value, sc))
			continue
		case a.Naked:
			if a.Index != nil {
				w.index(a.Index)
			}
			if cmd.Variant.Value == "export" {
				w.assigns(a.Name.Value, value{})
			}
			args = append(args, literal(w.written(a)))
			continue
		}
		v := w.assign(a, sc)
		if a.Array == nil && !v.lit && (w.unit.names[a.Name.Value].array || w.unit.parent != nil) {
			w.note(w.written(a), " may be an array whose elements are expanded")
		}
		if v.lit && a.Array == nil {
			args = append(args, literal(a.Name.Value+"="+v.text))
		} else {
			args = append(args, value{text: w.written(a), head: a.Name.Value})
		}
	}
	l := &launch{walker: w, sc: sc, shell: true}
	l.run(append([]value{literal(cmd.Variant.Value)}, args...))
}

// functions returns the definitions that a name may have.
func (w *walker) functions(name string) []function {
	var all []function
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
	leave, ok := w.enter()
	if !ok {
		return true
	}
	defer leave()
	before := sc.cwd
	for i, f := range funcs {
		branch := &scope{cwd: before, then: before}
		w.stmt(f.body, branch)
		if i == 0 {
			sc.cwd = branch.cwd
		} else {
			sc.cwd = both(sc.cwd, branch.cwd)
		}
	}
	sc.then = sc.cwd
	made := false
	for u := w.unit; u != nil; u = u.parent {
		made = made || u.made[name]
	}
	if !made {
		sc.cwd = both(sc.cwd, before)
	}
	return made
}

// chdir changes the directory.
func (w *walker) chdir(sc *scope, to value, physical bool) {
	if !to.lit || to.text == "" || to.text == "-" || physical && strings.Contains(to.text, "..") {
		sc.moves(nil, nil)
		return
	}
	if path.IsAbs(to.text) {
		sc.moves([]string{path.Clean(to.text)}, sc.cwd)
		return
	}
	if sc.cwd == nil {
		return
	}
	var dirs []string
	for _, dir := range sc.cwd {
		if dir = path.Clean(within(dir, to.text)); dir == "." {
			dir = ""
		}
		dirs = append(dirs, dir)
	}
	sc.moves(dirs, sc.cwd)
}
