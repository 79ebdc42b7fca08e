package procfile

import (
	"bytes"
	"os"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	// minGiven is the shortest value of LocalOptions.Redact, and minFound the shortest of
	// the environment that is masked, in bytes: a shorter one may be a word.
	minGiven = 4
	minFound = 16
)

// secrets are the values that are masked.
type secrets []Secret

// secrets returns the values of LocalOptions.Redact, and the ones that envpolicy's default
// policy withholds from commands.
func (l *Local) secrets() secrets {
	env := os.Environ()
	passed, withheld := envpolicy.Policy{}.Apply(env)
	public := make(map[string]bool, len(passed))
	for _, kv := range passed {
		_, value, _ := strings.Cut(kv, "=")
		public[value] = true
	}
	all := slices.Clone(l.redact)
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		if !slices.Contains(withheld, name) || !envpolicy.IsSecret(name, value) {
			continue
		}
		for line := range strings.Lines(value) { // of a key in PEM
			line = strings.TrimSpace(line)
			if len(line) >= minFound && !public[line] && strings.ContainsAny(line, "0123456789") && !strings.HasPrefix(line, "/") && !strings.HasPrefix(line, "-----") {
				all = append(all, Secret{name, line})
			}
		}
	}
	return all
}

// A masked span of a text has a value of a secret.
type maskedSpan struct {
	from, to int
	name     string
}

// find returns where values are in a text, in order. It merges overlapping ones.
func (s secrets) find(text []byte) (all []maskedSpan) {
	for _, secret := range s {
		for at := 0; ; {
			n := bytes.Index(text[at:], []byte(secret.Value))
			if n < 0 {
				break
			}
			at += n + len(secret.Value)
			all = append(all, maskedSpan{at - len(secret.Value), at, secret.Name})
		}
	}
	slices.SortStableFunc(all, func(a, b maskedSpan) int { return a.from - b.from })
	apart := all[:0]
	for _, span := range all {
		if n := len(apart); n > 0 && span.from < apart[n-1].to {
			apart[n-1].to = max(apart[n-1].to, span.to)
			continue
		}
		apart = append(apart, span)
	}
	return apart
}

// longest returns how long the longest value is, in bytes.
func (s secrets) longest() (n int) {
	for _, secret := range s {
		n = max(n, len(secret.Value))
	}
	return n
}

// mask masks the values in a line.
func (s secrets) mask(line string) string {
	for _, span := range slices.Backward(s.find([]byte(line))) {
		line = line[:span.from] + marker(span.name) + line[span.to:]
	}
	return line
}

// marker stands in the place of a value.
func marker(name string) string { return "[withheld: " + name + "]" }

// cutMark is what [Line.String] has in the place of the rest of a line.
var cutMark = regexp.MustCompile(`… \[\d+ bytes more\]`)

// checkMarkers refuses an edit that adds a marker for a secret, for the rest of a long line
// or for a byte that is no text: its author has read the marker in place of the original,
// and would overwrite the original with it.
func (s secrets) checkMarkers(before, after string) error {
	if marks := cutMark.FindAllString(after, -1); len(marks) > len(cutMark.FindAllString(before, -1)) {
		return xerrors.Errorf("%q stands for the rest of a long line, and these words would be written in its place: change that line by an edit that leaves its end out, or by a command: %w", marks[0], procmgr.ErrInvalid)
	}
	if _, invalid := valid(before); invalid && strings.Count(after, "\ufffd") > strings.Count(before, "\ufffd") {
		return xerrors.Errorf("U+FFFD stands for a byte of the file that is no text, and would be written in its place: leave that part out of an edit, or let a command write it: %w", procmgr.ErrInvalid)
	}
	for _, secret := range s {
		if mark := marker(secret.Name); strings.Count(after, mark) > strings.Count(before, mark) {
			return xerrors.Errorf("%s stands for a value that cannot be seen here, and these words would be written in its place: leave that part as it is in the file, or let a command write it: %w", mark, procmgr.ErrInvalid)
		}
	}
	return nil
}
