package procmgr

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr/internal/scripts"
)

// lookLimit bounds how long the files that a command has run are looked at. That
// is less than a millisecond, unless they are on a network that is gone.
const lookLimit = 100 * time.Millisecond

// lookForWithheld adds to the names in Output.Withheld, for a command that has
// failed, or that has printed a warning and plainly runs a file: a build that lacks
// a variable seldom says so. It is called when the shell has exited, before anybody
// is told, and does nothing from the second time on. code is the exit code; nil if
// it is not known.
func (r *record) lookForWithheld(code *int) {
	r.look.Do(func() {
		// Most commands end here: nothing was withheld, or there is nothing to explain.
		if len(r.lacks) == 0 {
			return
		}
		r.mu.Lock()
		command, dir, asked := r.process.Command, r.process.WorkDir, r.asked
		r.mu.Unlock()
		if asked != "" {
			return
		}
		failed := code == nil || *code != 0
		var runs []scripts.Run
		if r.opts.runsAsUs() {
			runs = scripts.Of(command)
		}
		if !failed && len(runs) == 0 {
			return
		}
		printed := r.output(0, headtail.Limits{}, nil).Text
		if !failed && !warns(printed) {
			return
		}
		texts := []string{printed}
		if len(runs) > 0 {
			texts = append(texts, within(lookLimit, func() []string { return scripts.Texts(runs, dir) })...)
		}
		names := named(r.lacks, texts)

		r.mu.Lock()
		defer r.mu.Unlock()
		names = append(names, r.withheld...)
		slices.Sort(names)
		r.withheld = slices.Compact(names)
	})
}

// runsAsUs reports whether commands are sure to run as this program's own user, and
// to see the same files. What another user's script has in it is not for the command
// to learn.
func (o *Options) runsAsUs() bool {
	if len(o.Shell) != 2 {
		return false // a program in front of the shell may be su or a sandbox
	}
	switch strings.TrimSuffix(filepath.Base(o.Shell[0]), ".exe") {
	case "sh", "bash", "dash", "ash", "ksh", "zsh":
		return true
	}
	return false
}

// warns reports whether a text has a warning in it.
func warns(text string) bool {
	for _, word := range []string{"warning", "Warning", "WARN", "npm warn"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// named returns which of the names are in one of the texts, as whole words.
func named(names, texts []string) (found []string) {
	for _, name := range names {
		if slices.ContainsFunc(texts, func(text string) bool { return hasWord(text, name) }) {
			found = append(found, name)
		}
	}
	return found
}

// within returns what read returns, or nil if that takes too long. Nobody waits for
// its goroutine any longer, not even Close: a file on a network that is gone may hold
// it for as long as that lasts, and nothing that the manager does depends on it.
func within(limit time.Duration, read func() []string) []string {
	texts := make(chan []string, 1)
	go func() { texts <- read() }()
	over := time.NewTimer(limit)
	defer over.Stop()
	select {
	case t := <-texts:
		return t
	case <-over.C:
		return nil
	}
}
