package advice

import (
	"slices"
	"strings"

	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"mvdan.cc/sh/v3/syntax"
)

// believed names the filter whose exit code a script relied on, if the script
// ended well. In "go build | head && echo OK" the echo runs even if the build
// failed, and $? does not tell of the failure either. If a script failed, the
// model looks at it more closely anyway.
func (r Result) believed() string {
	code, ok := r.code()
	text := r.Command.Text
	if !ok || code != 0 || !strings.Contains(text, "|") || !containsAny(text, "&&", "||", "$?", "${?") || containsAny(text, "PIPESTATUS", "pipestatus") {
		return ""
	}
	tree := r.tree()
	if tree == nil {
		return ""
	}
	for i, stmt := range tree.Stmts {
		final := i == len(tree.Stmts)-1
		if script.Direct(stmt) {
			if !final && reads(tree.Stmts[i+1], "?") {
				if filter, judged := r.last(tree, stmt, false); judged != "" {
					return r.hidden("$?", filter, judged)
				}
			}
			if note := r.chained(tree, stmt, final); note != "" {
				return note
			}
		}
		if diverts(stmt) {
			return ""
		}
	}
	return ""
}

// chained looks at the left sides of && and ||. all says that the script ended
// well with this statement.
func (r Result) chained(tree *script.Tree, stmt *syntax.Stmt, all bool) string {
	for s := stmt; ; {
		chain, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || isPipe(chain) || !script.Plain(s) {
			return ""
		}
		op := chain.Op.String()
		all = all && chain.Op == syntax.AndStmt
		harmless := chain.Op == syntax.OrStmt && script.Calls(chain.Y.Cmd, "true", ":")
		// A script may use && after grep to ask whether there is such a
		// line.
		if filter, judged := r.last(tree, chain.X, all); judged != "" && !harmless && !slices.Contains(finders, filter) {
			return r.hidden("the exit code that "+op+" goes by", filter, judged)
		}
		s = chain.X
	}
}

// last returns the filter that sets the exit code of a statement, and the
// command before it whose success the filter hides, or "". all says that all of
// the statement has run. Otherwise nothing but cd, export and assignments may
// stand before the pipeline, and no cd may have failed.
func (r Result) last(tree *script.Tree, stmt *syntax.Stmt, all bool) (filter, judged string) {
	pipeline := stmt
	chain, ok := stmt.Cmd.(*syntax.BinaryCmd)
	chained := ok && !isPipe(chain)
	if chained {
		pipeline = chain.Y
	}
	if !script.Direct(pipeline) {
		return "", ""
	}
	if timed, ok := pipeline.Cmd.(*syntax.TimeClause); ok && timed.Stmt != nil {
		pipeline = timed.Stmt
	}
	stages := stagesOf(pipeline)
	call, ok := stages[len(stages)-1].Cmd.(*syntax.CallExpr)
	if !ok || len(stages) == 1 {
		return "", ""
	}
	filter = script.CalledName(call)
	if !slices.Contains(filters, filter) || slices.Contains(finders, filter) && quiet(call.Args) {
		return "", ""
	}
	if chained {
		prepared := script.Plain(stmt) && script.Conjuncts(chain.X, script.Prepares) &&
			r.Output.Truncated == nil && !strings.Contains(r.Output.Text, "cd: ")
		if chain.Op != syntax.AndStmt || !prepared && !all {
			return "", ""
		}
	}
	return filter, judgedIn(tree, stages[:len(stages)-1])
}

// reads reports whether a statement reads a variable before it has run anything.
func reads(s *syntax.Stmt, name string) bool {
	found := false
	look := func(nodes ...syntax.Node) {
		for _, node := range nodes {
			syntax.Walk(node, func(node syntax.Node) bool {
				switch node := node.(type) {
				case *syntax.CmdSubst, *syntax.ProcSubst:
					return false
				case *syntax.ParamExp:
					found = found || node.Param != nil && node.Param.Value == name
				}
				return !found
			})
		}
	}
	first := func(stmts []*syntax.Stmt) bool { return len(stmts) > 0 && reads(stmts[0], name) }
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr, *syntax.DeclClause, *syntax.TestClause, *syntax.ArithmCmd, *syntax.LetClause:
		look(cmd)
	case *syntax.BinaryCmd:
		return reads(cmd.X, name)
	case *syntax.TimeClause:
		return cmd.Stmt != nil && reads(cmd.Stmt, name)
	case *syntax.Block:
		return first(cmd.Stmts)
	case *syntax.Subshell:
		return first(cmd.Stmts)
	case *syntax.IfClause:
		return first(cmd.Cond)
	case *syntax.CaseClause:
		look(cmd.Word)
	}
	return found
}
