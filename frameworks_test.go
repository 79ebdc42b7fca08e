package toolproc_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// docs/frameworks.md has a row for each program of examples/with, with its lines and with
// the version of the library that its go.mod names.
func TestFrameworks(t *testing.T) {
	page, err := os.ReadFile("docs/frameworks.md")
	require.NoError(t, err)
	rows := regexp.MustCompile(`(?m)^\|.*\(\.\./(examples/with/\w+)\) \| (\d+) \|.* (v\S+) \|$`).FindAllStringSubmatch(string(page), -1)
	programs, err := filepath.Glob("examples/with/*/main.go")
	require.NoError(t, err)
	require.Len(t, rows, len(programs))
	for _, row := range rows {
		program, err := os.ReadFile(row[1] + "/main.go")
		require.NoError(t, err)
		require.Equal(t, strconv.Itoa(strings.Count(string(program), "\n")), row[2], row[1])
		mod, err := os.ReadFile(row[1] + "/go.mod")
		require.NoError(t, err)
		require.Contains(t, string(mod), " "+row[3]+"\n", row[1])
	}
}
