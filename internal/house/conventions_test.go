package house_test

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
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
		for _, call := range xerrorsCalls(file) {
			calls++
			if problem := checkXerrorsCall(call); problem != "" {
				t.Errorf("%s: xerrors.Errorf: %s", fset.Position(call.Pos()), problem)
			}
		}
	}
	require.NotZero(t, calls, "no call of xerrors.Errorf was found, so none was checked")
}

// xerrorsCalls finds the calls of xerrors.Errorf, whatever name the file gives
// the imported package.
func xerrorsCalls(file *ast.File) []*ast.CallExpr {
	local := ""
	for _, spec := range file.Imports {
		if spec.Path.Value == `"golang.org/x/xerrors"` {
			local = "xerrors"
			if spec.Name != nil {
				local = spec.Name.Name
			}
		}
	}
	if local == "" {
		return nil
	}
	var calls []*ast.CallExpr
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		function, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || function.Sel.Name != "Errorf" {
			return true
		}
		if pkg, ok := function.X.(*ast.Ident); ok && pkg.Name == local {
			calls = append(calls, call)
		}
		return true
	})
	return calls
}

// checkXerrorsCall returns the problem of a call, or "".
func checkXerrorsCall(call *ast.CallExpr) string {
	if len(call.Args) == 0 {
		return "it has no format"
	}
	format, ok := literal(call.Args[0])
	if !ok {
		return "the format is no string literal, so it cannot be checked; pass it as %s"
	}
	verbs, problem := verbsOf(format)
	if problem != "" {
		return problem
	}
	wrapped, wraps := strings.CutSuffix(format, ": %w")
	if wraps {
		verbs, _ = verbsOf(wrapped)
	}
	if strings.Contains(verbs, "w") {
		return `%w stands elsewhere than after ": " at the end, or twice: errors.Is would not match, or the cause be printed twice`
	}
	if wraps {
		verbs += "w"
	}
	if got := len(call.Args) - 1; !call.Ellipsis.IsValid() && got != len(verbs) {
		return "the format takes " + strconv.Itoa(len(verbs)) + " arguments and has " + strconv.Itoa(got)
	}
	return ""
}

// literal returns the value of a string literal, or of several joined by +.
func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		value, err := strconv.Unquote(e.Value)
		return value, err == nil && e.Kind == token.STRING
	case *ast.ParenExpr:
		return literal(e.X)
	case *ast.BinaryExpr:
		left, ok := literal(e.X)
		if !ok || e.Op != token.ADD {
			return "", false
		}
		right, ok := literal(e.Y)
		return left + right, ok
	}
	return "", false
}

// verbsOf returns the verb of each argument of a format. A * counts as a verb.
func verbsOf(format string) (verbs, problem string) {
	for {
		_, rest, found := strings.Cut(format, "%")
		if !found {
			return verbs, ""
		}
		verb := strings.IndexFunc(rest, func(r rune) bool { return !strings.ContainsRune("+-# 0123456789.*", r) })
		if verb < 0 {
			return "", "the format ends within a verb"
		}
		verbs += strings.Repeat("*", strings.Count(rest[:verb], "*"))
		switch rest[verb] {
		case '%':
		case '[':
			return "", "the format has explicit indexes, with which xerrors loses the cause"
		default:
			verbs += rest[verb : verb+1]
		}
		format = rest[verb+1:]
	}
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
