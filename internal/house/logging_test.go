package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// slog.TextHandler writes a value of slog.Any with %+v. For an error of
// xerrors, that is a stack trace with the paths of source files. So code logs
// the message of an error: slog.String("error", err.Error()).
func TestErrorsAreLoggedByTheirWords(t *testing.T) {
	inRoot(t)
	logged := 0
	for _, name := range files(t, ".go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		require.NoError(t, err)
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			if key, ok := loggedError(call); ok {
				logged++
				if key != "String" {
					t.Errorf("%s: slog.%s logs an error; use slog.String(\"error\", err.Error())", fset.Position(call.Pos()), key)
				}
			}
			return true
		})
	}
	require.NotZero(t, logged, "no error is logged anywhere, so none was checked")
}

// loggedError returns the function of package slog with which a call logs an
// error. It recognizes an error by its name.
func loggedError(call *ast.CallExpr) (function string, ok bool) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) == 0 {
		return "", false
	}
	if pkg, ok := f.X.(*ast.Ident); !ok || pkg.Name != "slog" {
		return "", false
	}
	key, _ := literal(call.Args[0])
	value, isName := call.Args[len(call.Args)-1].(*ast.Ident)
	if key != "error" && (!isName || !strings.HasSuffix(strings.ToLower(value.Name), "err")) {
		return "", false
	}
	return f.Sel.Name, true
}
