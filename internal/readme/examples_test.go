//go:build unix

package readme_test

import (
	"bytes"
	"go/doc"
	"go/format"
	"go/parser"
	"go/token"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Readers see an Example on pkg.go.dev and copy it from there, without any other file of
// the package. So each Example is a program by itself, and it ends the processes that it
// started. The tests of its package run it.
func TestExamples(t *testing.T) {
	walk(t, "_test.go", func(name, text string) {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, text, parser.ParseComments)
		require.NoError(t, err)
		for _, example := range doc.Examples(file) {
			require.NotNil(t, example.Play, "%s: Example%s uses what is in another file", name, example.Name)
			require.NotEmpty(t, example.Output, "%s: Example%s has no // Output:, and never runs", name, example.Name)
			var source bytes.Buffer
			require.NoError(t, format.Node(&source, fset, example.Play))
			before, after, local := strings.Cut(source.String(), "proclocal.New(")
			if !local {
				continue
			}
			require.Contains(t, before, "signal.NotifyContext(", "%s: Example%s: Ctrl-C leaves its processes running", name, example.Name)
			closes := regexp.MustCompile(`(?s)\bdefer \w+\.Close\(\)(.*)`).FindStringSubmatch(after)
			require.NotNil(t, closes, "%s: Example%s: its Local has no deferred Close", name, example.Name)
			require.NotRegexp(t, `\blog\.Fatal|\bos\.Exit`, strings.ReplaceAll(closes[1], "// log.Fatal", ""),
				"%s: Example%s: log.Fatal and os.Exit skip the deferred Close", name, example.Name)
		}
	})
}
