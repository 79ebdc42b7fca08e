package house_test

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"
)

// go vet checks the format strings of fmt.Errorf, but not of xerrors.Errorf, where a %w
// anywhere but at the end breaks the error silently.
func TestXerrorsFormats(t *testing.T) {
	inRoot(t)
	calls := 0
	for _, name := range files(t, ".go") {
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && types.ExprString(call.Fun) == "xerrors.Errorf" {
				calls++
				if problem := checkXerrorsCall(call); problem != "" {
					t.Errorf("%s: xerrors.Errorf: %s", fset.Position(call.Pos()), problem)
				}
			}
			return true
		})
	}
	require.NotZero(t, calls, "no call of xerrors.Errorf was found, so none was checked")
}

// verb matches a verb of a format with its flags.
var verb = regexp.MustCompile(`(?s)%[-+# 0-9.*]*(.?)`)

// checkXerrorsCall returns the problem of a call, or "".
func checkXerrorsCall(call *ast.CallExpr) string {
	format, err := types.Eval(token.NewFileSet(), nil, token.NoPos, types.ExprString(call.Args[0]))
	if err != nil || format.Value == nil {
		return "the format is no constant text, so it cannot be checked; pass it as %s"
	}
	wrapped, wraps := strings.CutSuffix(constant.StringVal(format.Value), ": %w")
	want := 0
	for _, found := range verb.FindAllStringSubmatch(wrapped, -1) {
		switch found[1] {
		case "%":
			continue
		case "":
			return "the format ends within a verb"
		case "[":
			return "the format has explicit indexes, with which xerrors loses the cause"
		case "w":
			return `%w stands elsewhere than after ": " at the end, or twice: errors.Is would not match, or the cause be printed twice`
		}
		want += 1 + strings.Count(found[0], "*")
	}
	if wraps {
		want++
	}
	if got := len(call.Args) - 1; !call.Ellipsis.IsValid() && got != want {
		return fmt.Sprintf("the format takes %d arguments and has %d", want, got)
	}
	return ""
}

// The test does not follow links that leave the repository: if it depended on
// the server of someone else, it would fail for reasons outside of this
// repository.
func TestMarkdownLinks(t *testing.T) {
	inRoot(t)
	for _, name := range files(t, ".md") {
		text := readFile(t, name)
		for _, link := range markdownLinks(text) {
			target, err := url.Parse(link)
			if err != nil {
				t.Errorf("%s: the link %q is no URL: %v", name, link, err)
				continue
			}
			if target.Scheme != "" || target.Host != "" {
				continue
			}
			linked := name
			if target.Path != "" {
				linked = filepath.Join(filepath.Dir(name), filepath.FromSlash(target.Path))
			}
			if _, err := os.Stat(linked); err != nil || path.IsAbs(target.Path) {
				t.Errorf("%s: the link %q leads nowhere; links are relative to the file that they are in", name, link)
				continue
			}
			if target.Fragment != "" && filepath.Ext(linked) == ".md" {
				require.Contains(t, anchors(readFile(t, linked)), target.Fragment,
					"%s: the link %q leads to no heading", name, link)
			}
		}
	}
}

var (
	fence      = regexp.MustCompile("(?ms)^ *```.*?^ *```[ \t]*$")
	inlineCode = regexp.MustCompile("``.*?``|`[^`\n]*`")
	link       = regexp.MustCompile(`\]\(<?([^()\s<>]+)>?(?:\s+"[^"]*")?\)|(?m:^ {0,3}\[[^\]]+\]:\s+(\S+))|(?:href|src)="([^"]*)"`)
	heading    = regexp.MustCompile(`(?m)^#{1,6} +(.*?) *#*$`)
)

// markdownLinks returns the targets of the links and images in a text.
func markdownLinks(text string) []string {
	text = inlineCode.ReplaceAllString(fence.ReplaceAllString(text, ""), "")
	var targets []string
	for _, found := range link.FindAllStringSubmatch(text, -1) {
		targets = append(targets, cmp.Or(found[1:]...))
	}
	return targets
}

// anchors returns the fragments that GitHub makes from the headings of a text.
func anchors(text string) []string {
	var all []string
	seen := make(map[string]int)
	for _, found := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		anchor := strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-', r == '_', unicode.IsLetter(r), unicode.IsDigit(r):
				return unicode.ToLower(r)
			}
			return -1
		}, found[1])
		seen[anchor]++
		if n := seen[anchor] - 1; n > 0 {
			anchor += "-" + strconv.Itoa(n)
		}
		all = append(all, anchor)
	}
	return all
}

// files returns the files of the repository with an extension, including those
// of nested modules.
func files(t *testing.T, extension string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if skipped(entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if filepath.Ext(name) == extension {
			names = append(names, name)
		}
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, names)
	return names
}

// skipped reports whether the go command also leaves out a directory.
func skipped(name string) bool {
	return name != "." && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") ||
		name == "testdata" || name == "vendor" || name == "node_modules")
}

func readFile(t *testing.T, name string) string {
	t.Helper()
	content, err := os.ReadFile(name)
	require.NoError(t, err)
	return string(content)
}
