package toolset

import (
	"regexp"
	"strings"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// slashed matches a pattern in the notation of JavaScript, sed and Perl, with
// its flags.
var slashed = regexp.MustCompile(`^/((?:[^/\\]|\\.)+)/([gimsuvxy]*)$`)

// maxMatched is how much of a matched line a note quotes, in bytes of the
// result.
const maxMatched = 400

// checkPattern refuses a pattern whose meaning differs from its look. RE2 takes
// the slashes and the flags of /ready/i as characters to search for. Without
// flags the pattern may be a path.
func checkPattern(name, pattern string) error {
	parts := slashed.FindStringSubmatch(pattern)
	if parts == nil || parts[2] == "" {
		return nil
	}
	meant := parts[1]
	if strings.Contains(parts[2], "i") {
		meant = "(?i)" + meant
	}
	return xerrors.Errorf(`the argument %q: %q has the slashes and flags of another notation, and they would be searched for; write %q, or %q if the slashes are meant`,
		name, pattern, meant, "[/]"+pattern[1:])
}

// searched adds the result of wait_for to the note.
func (r *report) searched(out procmgr.Output, from int64, pattern string, wait time.Duration) {
	p := out.Process
	switch {
	case pattern == "":
		return
	case out.Matched && pattern != "." && (out.MatchedLine != "" || out.MatchedAt > 0):
		r.Add("wait_for matched at offset %d: %s.", out.MatchedAt, wording.Quote(out.MatchedLine, maxMatched))
		return
	case out.Matched:
		r.Add("wait_for matched.")
		return
	case p.State == procmgr.Exited:
		r.Add("The process ended without a match for wait_for.")
	case p.State == procmgr.Detached:
		r.Add("wait_for has not matched; the shell has ended.")
	case out.Process.Waiting != nil:
		r.Add("wait_for has not matched so far.")
	default:
		r.Add("wait_for did not match within %s; the process still runs.", wording.Duration(wait))
	}
	if slashed.MatchString(pattern) {
		r.Add("The slashes of wait_for were searched for, too.")
	}
	if from > 0 {
		r.Add("Output before since was not searched; leave since out to search that too.")
	}
	if out.Unsearched <= 0 {
		return
	}
	r.Add("%d bytes of the output were not searched: they are no longer kept, or stand beyond the first 4 KiB of their line.", out.Unsearched)
	if p.LogPath != "" && p.LogError == "" {
		r.LogPath = p.LogPath
		r.Add(`They are in the log: grep -n -a -b -o 'PATTERN.\{0,200\}' FILE`)
	}
}
