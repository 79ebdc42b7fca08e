//go:build linux || darwin || freebsd

package toolset_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// What a result cannot show as it was printed is shown as something else, and the note
// says so. A host can keep any result in a database, and most refuse a NUL.
func TestLocalUnprintable(t *testing.T) {
	t.Parallel()
	const nul = "␀ stands for a NUL byte"
	for _, tt := range []struct{ name, command, output, note string }{
		{"names that end in a NUL", `printf 'a b\0c\0'`, "a b␀c␀", nul},
		{"Latin-1", `printf 'caf\351 au lait\n'`, "caf\uFFFD au lait\n", "1 byte is not UTF-8, shown as U+FFFD"},
		{"several bytes", `printf '\377\376\351 \303\251\n'`, "\uFFFD\uFFFD\uFFFD é\n", "3 bytes are not UTF-8, each shown as U+FFFD"},
		{"one that a program printed", `printf '\357\277\275\n'`, "\uFFFD\n", ""},
		{"one that a program printed, and a byte", `printf '\357\277\275\351\n'`, "\uFFFD\uFFFD\n", "1 byte is not UTF-8, shown as U+FFFD"},
		{"both", `printf '\0\351'`, "␀\uFFFD", "1 byte is not UTF-8, shown as U+FFFD. " + nul},
		{"a sign for NUL that a program printed", `printf '\342\220\200\n'`, "␀\n", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			chat := newHost(t, &proclocal.Options{}).Chat("a")
			for _, format := range []toolset.Format{toolset.FormatJSON, toolset.FormatText} {
				set := newSet(toolset.Static(chat), &toolset.Options{Format: format})
				res := set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(arguments(t, "command", tt.command))})
				require.Equal(t, tt.output, *res.Report.Output)
				require.Equal(t, tt.note, strings.Join(res.Report.Notes, ". "))
				require.NotContains(t, res.Content, "\x00")
				require.NotContains(t, res.Content, `\u0000`)
			}
		})
	}
	// Neither is there a NUL in what differs from an earlier output.
	t.Run("again", func(t *testing.T) {
		t.Parallel()
		l := newLocal(t, nil)
		const command = `seq 1 2000; printf 'a\0b'; cat n; echo x >> n`
		l.call(t.Context(), "execute", "command", "echo 1 > n")
		l.call(t.Context(), "execute", "command", command)
		got := l.call(t.Context(), "execute", "command", command)
		require.Contains(t, got, "again", got)
		require.Contains(t, got["output"], "a␀b")
		require.NotContains(t, got["output"], "\x00")
		require.Contains(t, got["note"], nul)
	})
}
