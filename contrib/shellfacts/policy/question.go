package policy

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/shellfacts"
)

// The limits of what a question says about the parts of a command. The command itself
// is always whole.
const (
	maxParts = 20
	maxPart  = 200 // bytes
)

// A part is something to ask about. key is "" if an answer counts once, and text is
// "" for all of a call.
type part struct{ text, key string }

// question asks about a call. Its parts stand under the command.
func question(q toolset.Question, facts shellfacts.Facts, parts []part) string {
	var b strings.Builder
	lines := strings.Split(q.Command, "\n")
	switch {
	case q.ProcessID != "":
		fmt.Fprintf(&b, "%s, with %s", q.Call.Name, visible(string(q.Call.Arguments)))
	case len(lines) == 1:
		b.WriteString("Run " + visible(q.Command) + in(q.WorkDir) + "?")
	default:
		b.WriteString("Run this" + in(q.WorkDir) + "?")
		for _, line := range lines {
			b.WriteString("\n    " + visible(line))
		}
	}
	for _, why := range facts.Why {
		text := visible(why)
		b.WriteString("\n  because " + text[1:len(text)-1])
	}
	for i, p := range parts {
		if i == maxParts {
			fmt.Fprintf(&b, "\n  and %d more", len(parts)-i)
			break
		}
		if p.text != "" {
			b.WriteString("\n  - " + clipped(p.text))
		}
	}
	return b.String()
}

func clipped(text string) string {
	if len(text) <= maxPart {
		return text
	}
	return strings.ToValidUTF8(text[:maxPart], "") + "…"
}

func in(dir string) string {
	if dir == "" {
		return ""
	}
	return " in directory " + visible(dir)
}

func quoted(words []string) string {
	var each []string
	for _, word := range words {
		each = append(each, visible(word))
	}
	return strings.Join(each, " ")
}

// visible quotes a text for a person, without anything that a terminal would obey, and
// with letters that cannot be seen by their numbers.
func visible(text string) string {
	var b strings.Builder
	for _, r := range strconv.Quote(text) {
		switch {
		case !blank(r):
			b.WriteRune(r)
		case r > 0xffff:
			fmt.Fprintf(&b, `\U%08x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// blank reports whether a letter has no shape of its own, although Unicode does not
// count it among controls and spaces, which strconv escapes.
func blank(r rune) bool {
	const blankPattern, nullNotehead = '\u2800', '\U0001d159'
	return r == blankPattern || r == nullNotehead || unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector)
}
