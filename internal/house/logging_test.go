package house_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// loggedError matches an attribute of package slog that has an error, by its key or by the
// name of its value.
var loggedError = regexp.MustCompile(`slog\.(\w+)\((?:"error",|[^\n]*, \w*[eE]rr\))`)

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
		for _, found := range loggedError.FindAllStringSubmatch(readFile(t, name), -1) {
			logged++
			require.Equal(t, "String", found[1], "%s: %s; use slog.String(\"error\", err.Error())", name, found[0])
		}
	}
	require.NotZero(t, logged, "no error is logged anywhere, so none was checked")
}
