package advice

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"mvdan.cc/sh/v3/syntax"
)

// Commands at the end of a pipeline that succeed on any input, so that their
// exit code says nothing.
var (
	// cutters only shorten or show their input. Without them the output is
	// as good.
	cutters = []string{"tail", "head", "cat", "less", "more"}
	// finders succeed if they find a line, which with -q is all that they are asked.
	finders = []string{"grep", "egrep", "fgrep", "rg"}
	filters = slices.Concat(cutters, finders, []string{
		"sed", "awk", "gawk", "mawk", "tee", "sort", "uniq", "wc", "cut", "tr", "jq", "yq", "column", "nl", "fold", "fmt", "rev", "tac", "paste",
	})
)

// steerers are builtins that change the shell, or where it goes on. They print
// nothing and ask nothing.
var steerers = strings.Fields("alias break cd continue exit getopts hash return set shift shopt trap ulimit umask unalias unset wait")

// producers are commands whose success does not matter to the model, by name, or by
// name and subcommand.
var producers = slices.Concat(filters, steerers, strings.Fields(`
	: [ base64 basename bat cal date df dirname dmesg du echo false fd file find free history
	hostname id ip journalctl ls lsblk lsof man mount netstat nproc od pgrep printenv printf ps pwd read realpath
	seq sleep ss stat strings test top tree true type uname uptime which whoami xxd yes`), []string{
	"apt list", "docker images", "docker logs", "docker ps", "git blame", "git branch", "git config", "git diff", "git grep", "git log",
	"git ls-files", "git reflog", "git remote", "git show", "git status", "git tag", "go doc", "go env", "go list", "go version",
	"kubectl describe", "kubectl get", "kubectl logs", "npm ls", "npm list", "pip freeze", "pip list", "pip show",
})

// maxQuoted is how much of a command a note quotes, in bytes.
const maxQuoted = 40

// pipeline says which filter set the exit code, if the command ends with a
// filter: "go test | tail" exits with 0 even if the tests fail. pipefail may
// have been set from outside the shell. The note is true then too.
func pipeline(r Result) string {
	code, ok := r.code()
	tree := r.Command.Tree()
	if !ok || code != 0 || tree == nil || !strings.Contains(r.Command.Text, "|") {
		return ""
	}
	last := final(tree)
	if last == nil {
		return ""
	}
	stages := stagesOf(last)
	call, ok := stages[len(stages)-1].Cmd.(*syntax.CallExpr)
	if !ok {
		return ""
	}
	filter, judged := script.CalledName(call), judgedIn(tree, stages[:len(stages)-1])
	if judged == "" || !slices.Contains(filters, filter) ||
		slices.Contains(finders, filter) && (hasOption(call.Args, 'q', "--quiet") || hasOption(call.Args, 'q', "--silent")) {
		return ""
	}
	note := fmt.Sprintf("Without pipefail, exit_code is that of %s and does not tell whether `%s` succeeded.", filter, judged)
	if slices.Contains(cutters, filter) {
		note += fmt.Sprintf(" Leave %s out: %s itself keeps the beginning and the end of long output.", filter, r.Tools.Execute)
	}
	return note
}

// final returns the pipeline, or the single command, that set the exit code 0 of
// the script: its last statement, or the last part of a && b, since then all of it
// has run. It returns nil if that is not certain.
func final(tree *script.Tree) *syntax.Stmt {
	last := tree.Stmts[len(tree.Stmts)-1]
	before := slices.Clone(tree.Stmts[:len(tree.Stmts)-1])
	for script.Direct(last) {
		timed, ok := last.Cmd.(*syntax.TimeClause)
		if ok && timed.Stmt != nil {
			last = timed.Stmt
			continue
		}
		and, ok := last.Cmd.(*syntax.BinaryCmd)
		if !ok || and.Op != syntax.AndStmt {
			if ok && !isPipe(and) || slices.ContainsFunc(before, diverts) {
				return nil
			}
			return last
		}
		before, last = append(before, and.X), and.Y
	}
	return nil
}

// diverts reports whether a statement may end the script early with success, or
// change the meaning of an exit code or a name.
func diverts(s *syntax.Stmt) bool {
	found := false
	syntax.Walk(s, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.FuncDecl:
			found = true
		case *syntax.CallExpr:
			if len(node.Args) == 0 {
				break
			}
			name, ok := script.Literal(node.Args[0])
			switch name {
			case "exit", "exec", "return", "trap", "eval", ".", "source", "shopt", "alias", "builtin":
				found = true
			case "command":
				found = found || !hasOption(node.Args, 'v', "-v") && !hasOption(node.Args, 'V', "-V")
			case "set":
				found = found || slices.ContainsFunc(node.Args[1:], func(w *syntax.Word) bool {
					option, ok := script.Literal(w)
					return !ok || strings.Trim(option, "-+eux") != "" // such as -o pipefail, -n
				})
			}
			found = found || !ok
		}
		return !found
	})
	return found
}

// stagesOf returns the commands of a pipeline in order.
func stagesOf(s *syntax.Stmt) []*syntax.Stmt {
	var stages []*syntax.Stmt
	for {
		pipe, ok := s.Cmd.(*syntax.BinaryCmd)
		if !ok || !isPipe(pipe) || len(stages) > 0 && !script.Plain(s) {
			break
		}
		stages = append(stages, pipe.Y)
		s = pipe.X
	}
	stages = append(stages, s)
	slices.Reverse(stages)
	return stages
}

// isPipe reports whether a command is a pipeline.
func isPipe(cmd *syntax.BinaryCmd) bool { return cmd.Op == syntax.Pipe || cmd.Op == syntax.PipeAll }

// judgedIn returns the first command in stages of a pipeline whose success
// matters, as a note quotes it, or "".
func judgedIn(tree *script.Tree, stages []*syntax.Stmt) (quoted string) {
	script.Walk(stages, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.CmdSubst, *syntax.ProcSubst, *syntax.FuncDecl:
			return false
		case *syntax.CallExpr:
			if script.Calls(node, "command") && hasOption(node.Args, 'v', "-v") {
				break
			}
			if quoted == "" && len(node.Args) > 0 && !produces(node.Args) {
				quoted = quote(tree, node)
			}
		}
		return quoted == ""
	})
	return quoted
}

// produces reports whether a command is one of the producers, or only prints
// its help.
func produces(args []*syntax.Word) bool {
	name, ok := script.Literal(args[0])
	if !ok {
		return false
	}
	name = path.Base(name)
	if slices.Contains(producers, name) || name == "env" && len(args) == 1 {
		return true
	}
	last, _ := script.Literal(args[len(args)-1])
	if len(args) > 1 && (last == "--help" || last == "--version" || last == "-h") {
		return true
	}
	// The first word that is no option is the subcommand.
	for words := args[1:]; len(words) > 0; words = words[1:] {
		word, _ := script.Literal(words[0])
		if name == "git" && word == "-C" && len(words) > 1 {
			words = words[1:]
		} else if !strings.HasPrefix(word, "-") {
			return slices.Contains(producers, name+" "+word)
		}
	}
	return false
}

// quote returns a command as it was written. If that is too long, it returns
// the command's name.
func quote(tree *script.Tree, call *syntax.CallExpr) string {
	first, last := call.Args[0], call.Args[len(call.Args)-1]
	text := tree.Between(first.Pos(), last.End())
	if len(text) > maxQuoted || strings.ContainsAny(text, "\n`") {
		text = tree.Between(first.Pos(), first.End())
	}
	if len(text) > maxQuoted || strings.ContainsAny(text, "\n`") {
		return "the command before it"
	}
	return text
}

// hasOption reports whether one of a command's words may be an option.
func hasOption(args []*syntax.Word, short rune, long string) bool {
	return slices.ContainsFunc(args[1:], func(w *syntax.Word) bool {
		word, ok := script.Literal(w)
		return ok && (word == long || len(word) > 1 && word[0] == '-' && word[1] != '-' && strings.ContainsRune(word, short))
	})
}
