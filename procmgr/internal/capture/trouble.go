package capture

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/toolproc/toolproc/procmgr/internal/prefilter"
)

// These are the words by which a line tells of trouble, whatever tool has
// printed it. The case of letters does not matter. They are of no tool alone:
// a word that only one tool prints would be a rule for that tool, and such rules are
// wrong as often as they help.
var (
	// literals count wherever they stand.
	literals = []string{
		"error", "fail", "fatal", "panic", "exception", "traceback", "denied",
		"not found", "cannot", "can't", "could not", "couldn't", "unable to", "no such",
		"not ok", "undefined", "invalid", "refused", "timed out", "abort", "assert",
		"segmentation", "killed", "unexpected", "violat", "mismatch", "conflict",
		"corrupt", "overflow", "unresolved", "out of memory", "deadlock",
		"crash", "unreachable", "rejected", "exhausted", "forbidden", "exceeded",
		"no space", "not defined", "not allowed", "core dumped", "illegal", "malformed",
		"data race", "uninitiali", "multiple definition", ", want ", " but was", " but got",
		"✗", "✘", "✖", "❌",
	}
	// openers count as the first word of a message alone: elsewhere they are
	// words like others.
	openers = []string{
		"warning", "warn", "race", "missing", "bad", "duplicate", "wrong", "err",
		"severe", "critical", "crit", "alert", "emerg", "caused by", "unknown",
		"unsupported", "leak", "lost", "broken",
	}
	// headings say what a test has got, and what it wants. They count as the
	// first word of a message.
	headings = []string{"left", "right", "got", "want", "have", "expected", "actual", "received"}
)

// How much a line says of trouble.
const (
	none    = iota - 1
	mention // a word of trouble is part of a name, or the line says that all is well
	said    // it stands in a sentence of a message that begins with INFO or the like
	told    // it stands in a sentence, or a lesser word begins the message
	headed  // it says what a test has got, or what it wants
	stated  // it is said as a message says it, as in "error: " or "FAILED"
	weights
)

// A term is a word of trouble in a line.
type term struct {
	kind termKind
	size int
	hit  int // the offset behind it
}

type termKind int

// If several words end at once, the last kind counts.
const (
	heading termKind = iota + 1
	opener
	literal
)

// kinds has all words, and troubles finds them. They never change.
var (
	kinds    = make(map[string]termKind)
	troubles = func() *prefilter.Filter {
		for i, words := range [][]string{headings, openers, literals} {
			for _, word := range words {
				kinds[word] = heading + termKind(i)
			}
		}
		return prefilter.Words(slices.Sorted(maps.Keys(kinds)))
	}()
)

// appendTerms appends the words of trouble in a line, in the order in which they
// end.
func appendTerms(found []term, line []byte) []term {
	for begin, word := range troubles.All(line) {
		found = append(found, term{kinds[word], len(word), begin + len(word)})
	}
	slices.SortFunc(found, func(a, b term) int {
		return cmp.Or(cmp.Compare(a.hit, b.hit), cmp.Compare(b.kind, a.kind), cmp.Compare(b.size, a.size))
	})
	return slices.CompactFunc(found, func(a, b term) bool { return a.hit == b.hit })
}

// A verdict is how much a line says of trouble.
type verdict struct {
	weight  int
	hit     int  // the offset behind the word that says most
	opens   bool // the message begins with it
	heading bool // it says no more than a heading
}

// maxLook is how far around a word its line is looked at.
const maxLook = 160

// judge returns the verdict on a line.
func judge(line []byte) verdict {
	if n := marked(line); n > 0 {
		return verdict{weight: stated, hit: n, opens: true}
	}
	best := verdict{weight: none}
	var room [8]term
	for _, w := range appendTerms(room[:0], line) {
		if v := weigh(line, w); v.weight > best.weight {
			best = v
		}
		if best.weight == stated {
			break
		}
	}
	if best.weight > mention && !best.heading {
		best.weight = min(best.weight, most(line, best))
	}
	return best
}

// marked returns the length of the sign of one letter by which a line tells of
// trouble, such as "! ", "E: " and "E0314 ", or 0.
func marked(line []byte) int {
	if len(line) < 6 {
		return 0
	}
	switch line[0] {
	case '!':
		if line[1] == ' ' && isWord(line[2]) {
			return 1
		}
	case 'E', 'F':
		if line[1] == ':' && line[2] == ' ' || line[5] == ' ' && len(bytes.Trim(line[1:5], "0123456789")) == 0 {
			return 1
		}
	}
	return 0
}

// weigh returns how much a word of a line says.
func weigh(line []byte, w term) verdict {
	hit := w.hit
	begin, end := hit-w.size, hit
	for end < len(line) && end-hit < maxLook && isWord(line[end]) {
		end++ // error becomes errors or Error
	}
	v := verdict{hit: hit}
	text, rest := line[begin:end], line[end:]
	colon := bytes.HasPrefix(bytes.TrimLeft(rest, " \t"), []byte{':'})
	behind := begin > 0 && isWord(line[begin-1]) && isWord(line[begin])
	inside := behind || begin > 0 && (line[begin-1] == '/' || line[begin-1] == '-')
	name := w.kind == literal && isWord(line[begin]) && line[begin] < 0x80 // it may be part of one
	switch {
	case name && (bytes.ContainsAny(text, "_0123456789") || behind && line[begin-1] == '_'),
		name && !colon && (inside || joined(rest) || camel(text) || line[max(begin-1, 0)] == '.'),
		name && colon && inside && !behind:
		if !colon && len(bytes.TrimSpace(rest)) == 0 && camel(line[bytes.LastIndexByte(line[:begin], '.')+1:end]) {
			break // java.lang.NullPointerException, and no more
		}
		v.weight = mention
		return v
	case !name:
	case absent(line[:begin], rest):
		v.weight = mention
		return v
	}
	v.opens = startsMessage(line, begin)
	switch {
	case w.kind == heading:
		v.weight, v.heading = none, colon
		switch {
		case !v.opens || inside || end > hit || joined(rest):
		case colon:
			v.weight = headed
		case !isOneOf(text, "left", "right", "have"):
			v.weight = told
		}
	case w.kind == opener:
		switch {
		case inside || end > hit+1 || joined(rest) || !v.opens && !loud(text):
			v.weight = none
		case loud(text) && v.opens && (w.size < 4 || line[begin] != 'W'):
			v.weight = stated
		default:
			v.weight = told
		}
	case v.opens, name && (colon || loud(text)), len(rest) > 0 && (rest[0] == '[' || rest[0] == '!'):
		v.weight = stated // NullPointerException: too
	default:
		v.weight = told
	}
	return v
}

// joined reports whether a word and what follows it are one name, as in
// errors.go and error-handler.
func joined(rest []byte) bool {
	return len(rest) > 1 && strings.IndexByte("-./(", rest[0]) >= 0 && isWord(rest[1])
}

// loud reports whether a word has capitals alone.
func loud(word []byte) bool {
	for _, c := range word {
		if c >= 'a' && c <= 'z' {
			return false
		}
	}
	return len(word) > 2
}

// camel reports whether a word is a name that has capitals inside.
func camel(word []byte) bool {
	return !loud(word) && bytes.ContainsFunc(word[1:], func(r rune) bool { return r >= 'A' && r <= 'Z' })
}

// absent reports whether a line says that there is none of something, as in "no
// errors" and "failed=0".
func absent(before, rest []byte) bool {
	before = bytes.TrimRight(before, " ")
	for _, no := range []string{"no", "0", "without", "without an", "without any", "zero"} {
		if n := len(before) - len(no); n >= 0 && strings.EqualFold(string(before[n:]), no) && (n == 0 || !isWord(before[n-1]) && before[n-1] != '.') {
			return true
		}
	}
	number := bytes.TrimLeft(rest, " :=")
	return len(number) < len(rest) && len(number) > 0 && number[0] == '0' && (len(number) == 1 || !isWord(number[1]) && number[1] != '.')
}

// startsMessage reports whether a message begins at an offset of a line: behind
// a colon or a bracket, as the value of a level, or if all words before it have a
// digit, as times and places have.
func startsMessage(line []byte, begin int) bool {
	before := bytes.TrimRight(line[:begin], " \t\"'`(")
	n := len(before)
	if n == 0 || before[n-1] == '[' || n < begin && strings.IndexByte(":])|}>*#-", before[n-1]) >= 0 {
		return true
	}
	if n > maxLook {
		return false
	}
	if isLevel(bytes.TrimRight(before, "=:\"' ")) {
		return true
	}
	letter, digit := false, false
	for i := 0; i <= n; i++ {
		switch {
		case i == n || before[i] == ' ' || before[i] == '\t':
			if letter && !digit {
				return false
			}
			letter, digit = false, false
		case before[i] >= '0' && before[i] <= '9':
			digit = true
		case before[i] < 0x80 && isWord(before[i]):
			letter = true
		}
	}
	return true
}

// isLevel reports whether a text ends with the name of a level, as in
// "level=error".
func isLevel(text []byte) bool {
	for _, name := range []string{"level", "lvl", "severity"} {
		if n := len(text) - len(name); n >= 0 && strings.EqualFold(string(text[n:]), name) {
			return true
		}
	}
	return false
}

// most returns the most that a line can say of trouble, by what else it says.
func most(line []byte, v verdict) int {
	before := line[max(v.hit-maxLook, 0):v.hit]
	line = bytes.TrimRight(line, " \t\r\n")
	if bytes.HasSuffix(line, []byte(": 0")) || !v.opens && isFine(lastWord(line)) {
		return mention
	}
	level := true // the next word may be that of a level
	for n := 0; len(before) > 0; n++ {
		var word []byte
		word, before = firstWord(before)
		switch {
		case n == 0 && isFine(word):
			return mention
		case isCalm(word) && (level || loud(word)):
			return said
		}
		level = isLevel(word)
	}
	return stated
}

// firstWord returns the first word of a text, without the digits and the
// punctuation around it, and the text behind it.
func firstWord(text []byte) (first, rest []byte) {
	begin := 0
	for begin < len(text) && !isLetter(text[begin]) {
		begin++
	}
	if bytes.HasPrefix(text[begin:], []byte("│")) { // of a frame
		return firstWord(text[begin+len("│"):])
	}
	end := begin
	for end < len(text) && isLetter(text[end]) {
		end++
	}
	return text[begin:end], text[end:]
}

// lastWord returns the last one.
func lastWord(text []byte) []byte {
	end := len(text)
	for end > 0 && !isLetter(text[end-1]) {
		end--
	}
	begin := end
	for begin > 0 && end-begin < maxLook && isLetter(text[begin-1]) {
		begin--
	}
	return text[begin:end]
}

func isLetter(c byte) bool { return isWord(c) && (c < '0' || c > '9') }

// isFine reports whether a word says that all is well.
func isFine(word []byte) bool {
	return isOneOf(word, "ok", "pass", "passed", "success", "✓", "✔", "√")
}

// isCalm reports whether a message that begins with a word is about no trouble.
func isCalm(word []byte) bool {
	return isOneOf(word, "info", "debug", "trace", "log", "note", "notice", "verbose")
}

func isOneOf(word []byte, list ...string) bool {
	for _, one := range list {
		if len(one) == len(word) && strings.EqualFold(string(word), one) {
			return true
		}
	}
	return false
}
