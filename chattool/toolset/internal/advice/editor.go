package advice

import (
	"slices"
	"strings"

	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/procmgr"
	"mvdan.cc/sh/v3/syntax"
)

// noTerminal begins the text that vim prints if it has no terminal.
const noTerminal = "Vim: Warning: "

// editors are programs that wait for a person at a terminal.
var editors = []string{"vi", "vim", "vim.tiny", "vim.basic", "nvim", "view", "vimdiff", "nano", "pico", "emacs", "joe", "mcedit"}

// editor says that an editor waits for a person, and that there is none.
func (r Result) editor() string {
	if r.Output.Process.Stdin == procmgr.StdinTerminal || r.Alive && (r.Ran < promptPause || r.isStopped()) || !r.Alive && !r.Failed {
		return ""
	}
	name := "vim"
	if !strings.Contains(r.Output.Text, noTerminal) {
		if !r.Alive || !containsAny(r.Command.Text, editors...) {
			return ""
		}
		if name = editorOf(r.tree()); name == "" {
			return ""
		}
	}
	note := "The editor " + name + " waits for a person at a terminal, and there is neither."
	if r.Alive {
		note += " End it with " + r.Tools.Signal + "."
	}
	return note + " Change files with sed, a script or a here-document instead, or with a tool for files." + r.startAgain("terminal")
}

// editorOf returns the editor that a script ends with, if the editor has files
// and no options. With options it may work by itself. If the script has input,
// the editor may wait for something else.
func editorOf(tree *script.Tree) string {
	if tree == nil || hasInput(tree) {
		return ""
	}
	name := ""
	script.Conjuncts(tree.Stmts[len(tree.Stmts)-1], func(s *syntax.Stmt) bool {
		call, ok := s.Cmd.(*syntax.CallExpr)
		if !ok || !script.Plain(s) {
			return false
		}
		called := script.CalledName(call)
		if slices.Contains(editors, called) && !slices.ContainsFunc(call.Args[1:], func(w *syntax.Word) bool {
			return strings.HasPrefix(w.Lit(), "-") || strings.HasPrefix(w.Lit(), "+")
		}) {
			name = called
		}
		return false // only the last command counts
	})
	return name
}

// unedited says that nobody has edited the list of git rebase -i. The editor of
// commands is true, so the rebase succeeds and changes nothing.
func (r Result) unedited() string {
	code, ok := r.code()
	text := r.Command.Text
	if !ok || code != 0 || r.Output.Process.Stdin == procmgr.StdinTerminal || !strings.Contains(text, "rebase") || containsAny(text, "EDITOR", "VISUAL", "editor") {
		return ""
	}
	tree := r.tree()
	if tree == nil {
		return ""
	}
	found := false
	script.Walk(tree.Stmts, func(node syntax.Node) bool {
		if call, ok := node.(*syntax.CallExpr); ok && script.Calls(call, "git") {
			found = found || rebases(call.Args[1:])
		}
		return !found
	})
	if !found {
		return ""
	}
	return "Nobody has edited the list of `git rebase -i`: the editor of commands is `true`, so every commit was picked as it was." +
		" Set GIT_SEQUENCE_EDITOR to a command that edits the file, such as \"sed -i '2s/^pick/squash/'\", or use git reset --soft, or git commit --fixup and rebase -i --autosquash."
}

// rebases reports whether the arguments of git are those of a rebase whose list
// a person should edit, and no option edits it.
func rebases(args []*syntax.Word) bool {
	words, _ := literals(args)
	for len(words) > 0 && strings.HasPrefix(words[0], "-") {
		n := 1
		if words[0] == "-C" || words[0] == "-c" {
			n = 2
		}
		words = words[min(n, len(words)):]
	}
	if len(words) == 0 || words[0] != "rebase" {
		return false
	}
	interactive := false
	for _, w := range words[1:] {
		switch {
		case w == "--interactive", w == "--edit-todo":
			interactive = true
		case w == "--autosquash", strings.HasPrefix(w, "--exec"), w == "--abort", w == "--continue", w == "--skip", w == "--quit":
			return false
		case len(w) > 1 && w[0] == '-' && w[1] != '-':
			if strings.ContainsRune(w, 'x') {
				return false
			}
			interactive = interactive || strings.ContainsRune(w, 'i')
		}
	}
	return interactive
}
