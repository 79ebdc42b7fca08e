//go:build linux || darwin || freebsd

package toolset_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
)

// If a character of a command is not what it looks like, the note names it: what the shell
// prints shows it as it looks.
func TestLocalCharacters(t *testing.T) {
	t.Parallel()
	testenv.Programs(t, "grep")
	for _, tt := range []struct{ name, command, note string }{
		{"a no-break space", "ls\u00a0-l", `the invisible character U+00A0 in "ls\u00a0-l"`},
		{"a no-break space in a command that succeeds", "echo a\u00a0b", `the invisible character U+00A0 in "a\u00a0b"`},
		{"a wide space", "ls\u3000-l", `the invisible character U+3000 in "ls\u3000-l"`},
		{"a zero-width space", "cd /\u200b", `the invisible character U+200B in "/\u200b"`},
		{"a zero-width joiner", "ls\u200d -l", `the invisible character U+200D in "ls\u200d"`},
		{"a byte order mark", "\ufeffls", `the invisible character U+FEFF in "\ufeffls"`},
		{"a direction", "ls \u202e-l", `the invisible character U+202E in "\u202e-l"`},
		{"line ends of two characters", "echo a\r\necho b\r\n", `carriage returns (CR, U+000D) at the ends of its lines: the shell takes each for a part of the last word, as in "a\r"`},
		{"line ends of two characters in a here-document", "cat <<'EOF' > f\r\nhello\r\nEOF\r\n", `carriage returns (CR, U+000D) at the ends of its lines: the shell takes each for a part of the last word, as in "f\r"`},
		{"an entity that does not parse", "cd / &amp;&amp; ls", "the HTML entity &amp;"},
		{"an entity that parses", "echo a &gt; f", "the HTML entity &gt;"},
		{"entities in a redirection", "ls /nope 2&gt;&amp;1 | tail", "the HTML entity &gt;"},
		{"an en dash", "ls \u2013la", `the typographic character U+2013 in "\u2013la"`},
		{"an em dash", "ls \u2014\u2014all", `the typographic character U+2014 in "\u2014\u2014all"`},
		{"typographic quotes", "grep -c \u201cno such\u201d /dev/null", `the typographic character U+201C in "\u201cno"`},

		{"in quotes", "ls /nope 'a\u00a0b' \"c\u200b &amp; \u2013d\"", ""},
		{"in a here-document", "cat > g <<X\n&amp; \u00a0\r\n\ufeff \u2013x\nX\nfalse", ""},
		{"in a comment", "false # a\u00a0b \u2013c &amp; d", ""},
		{"in quotes within quotes", "echo \"$(echo \"&amp;\")\"; false", ""},
		{"an emoji of several", "echo \U0001F468\u200d\U0001F469", ""},
		{"a dash that is none of an option", "echo a \u2013 b\u2014c", ""},
		{"an apostrophe", "echo it isn\u2019t so; false", ""},
		{"letters", "echo \u00fcber; false", ""},
		{"an escaped ampersand", `echo x | sed s/x/\&amp;/`, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			l := newLocal(t, nil)
			got := l.call(t.Context(), "execute", "command", tt.command)
			note, _ := got["note"].(string)
			if tt.note == "" {
				require.NotContains(t, note, "The command has", got)
			} else {
				require.Contains(t, note, "The command has "+tt.note, got)
			}
		})
	}
}
