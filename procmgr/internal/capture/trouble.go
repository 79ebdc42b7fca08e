package capture

import (
	"bytes"
	"slices"
	"strings"
)

// A line tells of trouble by these words, in letters of either case. They are of no
// tool alone: a rule for one tool is wrong as often as it helps. A word of fewer than
// five letters counts only as it is.
var troubleWords = []string{
	"error", "fail", "fails", "failed", "failing", "failure", "fatal", "panic", "exception", "traceback", "denied",
	"not found", "cannot", "can't", "could not", "couldn't", "unable to", "no such",
	"not ok", "undefined", "invalid", "refused", "timed out", "abort", "assert",
	"segmentation", "killed", "unexpected", "violat", "mismatch", "conflict",
	"corrupt", "overflow", "unresolved", "out of memory", "deadlock",
	"crash", "unreachable", "rejected", "exhausted", "forbidden", "exceeded",
	"no space", "not defined", "not allowed", "core dumped", "illegal", "malformed",
	"data race", "uninitiali", "multiple definition", ", want ", " but was", " but got",
	"warning", "warn", "race", "missing", "bad", "duplicate", "wrong", "err",
	"severe", "critical", "crit", "alert", "emerg", "caused by", "unknown",
	"unsupported", "leak", "lost", "broken", "✗", "✘", "✖", "❌",
}

// wordsBy has the words that begin with two bytes, in either case, at an index by these
// bytes. Most pairs of bytes have none, so most of a line is looked at no further.
var wordsBy = func() (by [1 << 16][]string) {
	for _, word := range troubleWords {
		for _, first := range []string{word[:1], strings.ToUpper(word[:1])} {
			for _, second := range []string{word[1:2], strings.ToUpper(word[1:2])} {
				if i := int(first[0])<<8 | int(second[0]); !slices.Contains(by[i], word) {
					by[i] = append(by[i], word)
				}
			}
		}
	}
	return by
}()

// How much a line says of trouble.
const (
	nothing   = iota
	mentioned // a word of trouble stands in a sentence
	stated    // it is said as a message says it, as in "error: " or "FAILED"
	weights
)

// judge returns how much a line says of trouble, and the offset behind the word that
// says most. A line of a command that has failed says more.
func judge(line []byte, failed bool) (weight, hit int) {
	for i := 0; i+1 < len(line) && weight < stated; i++ {
		for _, word := range wordsBy[int(line[i])<<8|int(line[i+1])] {
			if end := i + len(word); end <= len(line) && strings.EqualFold(string(line[i:end]), word) {
				if w := weigh(line, i, end, failed); w > weight {
					weight, hit = w, end
				}
			}
		}
	}
	return weight, hit
}

// maxLook is how far around a word its line is looked at.
const maxLook = 160

// weigh returns how much a word of a line says.
func weigh(line []byte, begin, end int, failed bool) int {
	first, last := begin, end // error becomes Errors, KeyError or java.lang.Error
	for isWord(line[end-1]) && last < min(len(line), end+maxLook) && isWord(line[last]) {
		last++
	}
	for first > 0 && begin-first < maxLook && isWord(line[begin]) && (isWord(line[first-1]) || line[first-1] == '.') {
		first--
	}
	before, word, rest := line[:first], line[first:last], line[last:]
	lower := line[begin] >= 'a' && line[begin] <= 'z'
	switch {
	case end-begin < 5 && line[begin] < 0x80 && (first < begin || last > end+1), // a badge
		first < begin && lower, // terror
		isWord(line[begin]) && isName(before, word, rest),
		absent(before), first == begin && isZero(rest):
		return nothing
	}
	said := says(rest) || first == begin && loud(word) && !loud(firstField(rest))
	start := startOf(before)
	switch {
	case first < begin && !said && start < alone: // TestFails
		return nothing
	case failed && (said || start > within),
		said && (start > behind || bytes.ContainsAny(firstField(line), digits)),
		start == placed, first == 0 && !lower:
		return stated
	case failed:
		return mentioned
	}
	return nothing
}

const digits = "0123456789"

// firstField returns what a text begins with up to a blank.
func firstField(text []byte) []byte {
	field, _, _ := bytes.Cut(bytes.TrimLeft(text[:min(len(text), maxLook)], " \t"), []byte{' '})
	return field
}

// isName reports whether a word is a name or a part of one, as in errors.go and
// error-handler.
func isName(before, word, rest []byte) bool {
	return bytes.ContainsAny(word, "_"+digits) || len(rest) > 1 && strings.IndexByte("-./(", rest[0]) >= 0 && isWord(rest[1]) ||
		bytes.HasSuffix(before, []byte("/")) || bytes.HasSuffix(before, []byte("-"))
}

// says reports whether a line says behind a word what the trouble is: after a colon or
// in brackets.
func says(rest []byte) bool {
	if next := bytes.TrimLeft(rest, " \t"); len(next) > 0 && next[0] == ':' {
		return len(next) == 1 || next[1] != ':' && next[1] != '='
	}
	return len(rest) > 0 && strings.IndexByte("[]!", rest[0]) >= 0 && !bytes.HasPrefix(rest, []byte("!="))
}

// loud reports whether a text begins with a capital and has no small letters.
func loud(text []byte) bool {
	return len(text) > 1 && text[0] >= 'A' && text[0] <= 'Z' && !bytes.ContainsAny(text, "abcdefghijklmnopqrstuvwxyz")
}

// absent reports whether a text ends with "no" or 0, so there is none of what follows.
func absent(before []byte) bool {
	before = bytes.TrimRight(before[max(0, len(before)-maxLook):], " ")
	word := before[bytes.LastIndexFunc(before, func(r rune) bool { return r < 0x80 && r != '.' && !isWord(byte(r)) })+1:]
	return strings.EqualFold(string(word), "no") || string(word) == "0"
}

// isZero reports whether a text says that there is none of what is before it, as in
// "failed=0".
func isZero(rest []byte) bool {
	number := bytes.TrimLeft(rest, " :=")
	return len(number) < len(rest) && len(number) > 0 && number[0] == '0' && (len(number) == 1 || !isWord(number[1]) && number[1] != '.')
}

// Where a word stands in a message.
const (
	within = iota
	behind // a colon or a bracket
	alone  // only punctuation is before it
	placed // so are locations, times and levels
)

// startOf returns where a word stands that follows a text.
func startOf(text []byte) int {
	before := bytes.TrimRight(text, " \t\"'`(")
	n := len(before)
	if n > maxLook {
		return within
	}
	start := alone
	for field := range bytes.FieldsSeq(before) {
		switch word := strings.ToLower(string(bytes.Trim(field, "=:[]()\"'<>*#-|"))); {
		case strings.ContainsAny(word, digits), slices.Contains(levels, word):
			start = placed
		case !strings.ContainsAny(word, "abcdefghijklmnopqrstuvwxyz"):
		case before[n-1] == '[' || n < len(text) && strings.IndexByte(":])|}>*#-", before[n-1]) >= 0:
			return behind
		default:
			return within
		}
	}
	return start
}

var levels = []string{"info", "debug", "trace", "log", "note", "notice", "verbose", "level", "lvl", "severity"}
