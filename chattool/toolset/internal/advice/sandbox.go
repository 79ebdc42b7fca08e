package advice

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// maxPaths is how many paths of a list are named.
const maxPaths = 8

// Rules says what commands may and may not do, as the rest of a sentence about them.
func Rules(rules *procmgr.SandboxRules) string {
	said := "may write in $TMPDIR only"
	switch n := len(rules.Write); {
	case n == 1:
		said = "may write below " + wording.Odd(rules.Write[0]) + " and in $TMPDIR only"
	case n > 1:
		said = "may write below " + listed(rules.Write, " and ") + ", and in $TMPDIR only"
	}
	if len(rules.Protect) > 0 {
		said += ", but not to " + listed(rules.Protect, " or ")
	}
	var besides []string
	if len(rules.Hide) > 0 {
		besides = append(besides, "cannot read "+listed(rules.Hide, " or "))
	}
	if rules.NoNetwork {
		besides = append(besides, "have no network")
	}
	for i, words := range besides {
		switch {
		case i < len(besides)-1:
			said += ", " + words
		default:
			said += ", and " + words
		}
	}
	return said
}

// listed names some paths of a list. last stands before the last one.
func listed(paths []string, last string) string {
	var named []string
	for _, p := range paths[:min(len(paths), maxPaths)] {
		named = append(named, wording.Odd(p))
	}
	if more := len(paths) - len(named); more > 0 {
		return strings.Join(named, ", ") + fmt.Sprintf(" and %d more", more)
	}
	n := len(named) - 1
	if n == 0 {
		return named[0]
	}
	return strings.Join(named[:n], ", ") + last + named[n]
}

var (
	// denials are what a system and the usual languages say of a write that a rule
	// forbids.
	denials = regexp.MustCompile(`(?i)permission denied|operation not permitted|read-only file ?system|cross-device link|\b(EACCES|EPERM|EROFS|EXDEV)\b|PermissionError`)
	// absences are what a program says of a file that is hidden.
	absences = regexp.MustCompile(`(?i)no such file|not found|cannot open|\bENOENT\b`)
	// offline are what programs say that reach no network.
	offline = regexp.MustCompile(`(?i)network is unreachable|network unreachable|could ?n[o']t resolve|failure in name resolution|name or service not known|no such host|` +
		`nodename nor servname|no address associated|(failed to|could ?n[o']t) connect to|\b(EAI_AGAIN|ENETUNREACH|ENOTFOUND)\b|getaddrinfo|gaierror|(socket|dial (tcp|udp)).*operation not permitted|can't create socket`)
	// own are the machine's own addresses, at which a server may just not be there.
	own = regexp.MustCompile(`(?i)\blocalhost\b|\b127\.\d+\.\d+\.\d+\b|::1\b`)
	// keys are denials of another machine.
	keys = regexp.MustCompile(`(?i)permission denied,? (\(|please try again)`)
	// relative is the denial of a file that is named from the current directory.
	relative = regexp.MustCompile(`(?i)(^|[\s'"‘“])[^\s'"‘’“”:/][^\s'"‘’“”:]*['"’”]?: (permission denied|operation not permitted|read-only)`)
	// named are the words of a line that may be paths.
	named = regexp.MustCompile(`[^\s'"` + "`" + `‘’“”:,;()\[\]{}<>=]+`)
)

// sandboxed tells of the rules of a sandbox if one of them may be why a command has
// failed.
func (r Result) sandboxed() string {
	rule := r.rule()
	if rule == "" {
		return ""
	}
	return "A rule of the sandbox may be the reason: " + rule + ". If it is, another way round will not help: tell the user."
}

// Forbidden reports whether a rule of a sandbox may be why the command has failed.
func (r Result) Forbidden() bool { return r.rule() != "" }

// rule returns the rule of a sandbox that may be why the command has failed, or "".
func (r Result) rule() string {
	if r.Sandbox == nil || !r.Failed {
		return ""
	}
	for line := range strings.Lines(r.Output.Text) {
		if r.forbidden(line) {
			rules := *r.Sandbox
			rules.NoNetwork = false
			return "commands " + Rules(&rules)
		}
		if r.Sandbox.NoNetwork && offline.MatchString(line) && !own.MatchString(line) {
			return "commands have no network"
		}
	}
	return ""
}

// forbidden reports whether a line names a path that a rule keeps from commands, beside
// a word of denial.
func (r Result) forbidden(line string) bool {
	denied := denials.MatchString(line) && !keys.MatchString(line)
	if !denied && (len(r.Sandbox.Hide) == 0 || !absences.MatchString(line)) {
		return false
	}
	dir := r.Output.Process.WorkDir
	known := path.IsAbs(dir)
	rest := denials.ReplaceAllString(line, " ")
	for _, word := range named.FindAllString(rest, -1) {
		p := path.Clean(word)
		if !path.IsAbs(p) {
			if !known {
				continue
			}
			p = path.Join(dir, word)
		}
		// A word that does not begin as a path does may be no file, but is one if a rule names it.
		surely := path.IsAbs(word) || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../")
		if covered(p, r.Sandbox.Hide) || denied && (covered(p, r.Sandbox.Protect) || surely && !covered(p, r.Sandbox.Write)) {
			return true
		}
	}
	return denied && known && !covered(dir, r.Sandbox.Write) && relative.MatchString(line)
}

// covered reports whether a path is one of others, or below one.
func covered(p string, others []string) bool {
	return slices.ContainsFunc(others, func(other string) bool {
		return p == other || strings.HasPrefix(p, strings.TrimSuffix(other, "/")+"/")
	})
}
