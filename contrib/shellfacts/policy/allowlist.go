// Package policy has a policy for toolset.Options.Approve.
//
// An [AllowList] asks a person about everything that is not in the list. It saves a person
// from questions and from mistakes. It keeps no command from doing harm, since a program
// may do more than the text of a command tells.
package policy

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/shellfacts"
)

// ReadOnly returns names of programs that only read, unless their options say
// otherwise. Then the facts of a command have a write, another program, or are not
// complete. Of git, an [AllowList] allows what reads, where no setting of the repository
// has git run a program.
func ReadOnly() []string {
	return strings.Fields(": [ awk basename cat cd cmp comm cut date df diff dirname du echo egrep env exit false fgrep file find free git grep head id jq ls lsof " +
		"md5sum netstat nl nproc od paste printenv printf ps pwd readlink realpath rg sed seq sha1sum sha256sum sleep sort ss stat tac tail test time timeout tr tree true " +
		"uname uniq uptime wait wc which whoami xargs")
}

// An Answer is a person's decision. The zero value is No.
type Answer int

// The answers. Always is for the same part of each later command.
const (
	No Answer = iota
	Once
	Always
)

// An Asker asks a person. If always is false, the answer counts once. An error
// is a No.
type Asker func(ctx context.Context, question string, always bool) (Answer, error)

// An AllowList runs some programs without a question. It is safe for concurrent
// use, and asks one question at a time.
type AllowList struct {
	// WorkDir is the absolute directory in which the host runs commands, for calls that
	// name none or a relative one. It is set before the first call. If it is "", the
	// person is asked about git in such calls.
	WorkDir string
	// Remote says that commands see other files than this program, as on another machine
	// or in a container. Then the person is asked about all calls of git.
	Remote bool

	programs []string
	ask      Asker
	turn     chan struct{}   // holds an element while a question is asked
	always   map[string]bool // keys of parts; belongs to the holder of turn
}

// NewAllowList returns an AllowList of programs by their exact names. If git is among
// them, set WorkDir.
func NewAllowList(programs []string, ask Asker) *AllowList {
	return &AllowList{programs: slices.Clone(programs), ask: ask, turn: make(chan struct{}, 1), always: make(map[string]bool)}
}

// Approve is for [toolset.Options]. It asks once about a call, with the parts of its
// command that the list does not allow.
func (l *AllowList) Approve(ctx context.Context, q toolset.Question) (toolset.Verdict, error) {
	facts := factsOf(q)
	parts := l.parts(q, facts)
	if len(parts) == 0 {
		return toolset.Verdict{}, nil
	}
	select {
	case l.turn <- struct{}{}:
		defer func() { <-l.turn }()
	case <-ctx.Done():
		return toolset.Verdict{}, ctx.Err()
	}
	parts = slices.DeleteFunc(parts, func(p part) bool { return l.always[p.key] })
	if len(parts) == 0 {
		return toolset.Verdict{}, nil
	}
	always := !slices.ContainsFunc(parts, func(p part) bool { return p.key == "" })
	answer, err := l.ask(ctx, question(q, facts, parts), always)
	switch {
	case err != nil:
		return toolset.Verdict{}, err
	case answer == Always && always:
		for _, p := range parts {
			l.always[p.key] = true
		}
	case answer != Once:
		return toolset.Verdict{Deny: true, Reason: "the user said no"}, nil
	}
	return toolset.Verdict{}, nil
}

// factsOf returns what is known of what a call does.
func factsOf(q toolset.Question) shellfacts.Facts {
	switch {
	case q.ProcessID == "":
		return shellfacts.Parse(q.Command, q.Shell)
	case q.Command == "" && len(q.Keys) == 0 && !q.Secret:
		return shellfacts.Facts{Why: []string{"the signal is sent to all that process " + q.ProcessID + " has started"}}
	}
	return shellfacts.Facts{Why: []string{"process " + q.ProcessID + " reads the text, and may do anything"}}
}

// parts returns the parts of a question that the list does not allow.
func (l *AllowList) parts(q toolset.Question, facts shellfacts.Facts) (parts []part) {
	if !facts.Complete {
		return []part{{}}
	}
	for _, p := range facts.Programs {
		if l.allows(p, q, facts) {
			continue
		}
		words := append(append(slices.Clone(p.Through), p.Name), p.Args...)
		key := keyOf("run", q.WorkDir, words)
		if !p.Known || p.Files || !p.Literal {
			// What it does may depend on the rest of the command: a cd, a
			// variable, a file that another part writes, the stdin of a pipe.
			key = keyOf("run", q.WorkDir, append(words, q.Command))
		}
		parts = append(parts, part{"Run " + quoted(words), key})
	}
	for _, file := range facts.Writes {
		key := keyOf("write", q.WorkDir, []string{file.Path})
		if !file.Literal || file.Path == "" {
			key = ""
		}
		parts = append(parts, part{"Change the file " + visible(cmp.Or(file.Path, file.Name)), key})
	}
	return parts
}

// allows reports whether a program, and the programs that start it, are in the list
// and do no more than their arguments say.
func (l *AllowList) allows(p shellfacts.Program, q toolset.Question, facts shellfacts.Facts) bool {
	listed := func(name string) bool { return slices.Contains(l.programs, name) }
	for _, name := range p.Through {
		if !listed(name) {
			return false
		}
	}
	return listed(p.Name) && p.Known && (!p.Files || p.Name == "git" && l.gitReads(p, q, facts))
}

func keyOf(kind, dir string, words []string) string {
	key, _ := json.Marshal(append([]string{kind, dir}, words...)) // strings alone: no error
	return string(key)
}
