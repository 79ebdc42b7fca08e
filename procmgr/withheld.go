package procmgr

import (
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr/internal/scripts"
)

// lookLimit is how long the search in the files of a command may take. It
// usually takes less than a millisecond, unless the files are on a network that
// is gone.
const lookLimit = 100 * time.Millisecond

// lookForWithheld adds to the names in Output.Withheld. It does so if the
// command has failed, or if it has printed a warning and plainly runs a file: a
// build that lacks a variable seldom says so. It is called when the shell has
// exited, before any caller is told, and only the first call has an effect.
// code is the exit code, or nil if it is not known.
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
		printed := r.output(0, headtail.Limits{}, 0, nil).Text
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

// runsAsUs reports whether commands surely run as this program's own user and
// see the same files. A command must not learn what is in another user's
// script.
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

// warns reports whether a text has a warning.
func warns(text string) bool {
	for _, word := range []string{"warning", "Warning", "WARN", "npm warn"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// named returns the names that are in at least one of the texts, as whole
// words.
func named(names, texts []string) (found []string) {
	for _, name := range names {
		if slices.ContainsFunc(texts, func(text string) bool { return hasWord(text, name) }) {
			found = append(found, name)
		}
	}
	return found
}

// within returns the result of read, or nil if read takes too long. After that
// nothing waits for its goroutine, not even Close. A file on a network that is
// gone may hold the goroutine for as long as the network stays gone. Nothing
// that the manager does depends on it.
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
