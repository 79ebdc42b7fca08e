// Package exampletest has what the tests of the examples do alike. Only tests import
// it.
package exampletest

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/examples/internal/dialogue"
)

var update = flag.Bool("update", false, "write the files in testdata anew")

// Main runs the tests, without the variables that a manager withholds: the first
// command that fails would be told of them.
func Main(m *testing.M) {
	_, secrets := envpolicy.Policy{}.Apply(os.Environ())
	for _, name := range secrets {
		_ = os.Unsetenv(name)
	}
	os.Exit(m.Run())
}

// Scratch gives the test a directory of its own for temporary files. It skips a test
// for whose commands there is no shell.
func Scratch(t *testing.T) (tmp string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the commands are a POSIX shell's")
	}
	tmp = t.TempDir()
	t.Setenv("TMPDIR", tmp)
	return tmp
}

// RequireNothingRuns fails if a process uses tmp for its temporary files. Only Linux
// shows the processes.
func RequireNothingRuns(t *testing.T, tmp string) {
	t.Helper()
	environs, err := filepath.Glob("/proc/[0-9]*/environ")
	require.NoError(t, err)
	for _, name := range environs {
		environ, _ := os.ReadFile(name) // the process may have ended
		require.NotContains(t, string(environ), "TMPDIR="+tmp+"\x00", "a process is left: %s", name)
	}
}

// RequireNothingLeft fails if a file is left in tmp as well.
func RequireNothingLeft(t *testing.T, tmp string) {
	t.Helper()
	left, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Empty(t, left, "files are left")
	RequireNothingRuns(t, tmp)
}

var (
	processID = regexp.MustCompile(`(?:process_id=|process |\| )([a-z2-7]{10})\b`)
	// differs matches how long a command took, in the facts of a result and in a list, and
	// where it ran.
	differs = regexp.MustCompile(`( · |(?:running|exited \d+)  |workdir: )(?:[0-9.]+m?s\b|/\S+)`)
)

// RequireTranscript compares a transcript with the one in testdata, but for the parts
// that differ from run to run.
func RequireTranscript(t *testing.T, transcript string) {
	t.Helper()
	for line := range strings.Lines(transcript) {
		require.LessOrEqual(t, len([]rune(strings.TrimSuffix(line, "\n"))), dialogue.Width, line)
	}
	known := make(map[string]bool)
	for _, found := range processID.FindAllStringSubmatch(transcript, -1) {
		if id := found[1]; !known[id] {
			known[id] = true
			transcript = strings.ReplaceAll(transcript, id, fmt.Sprintf("<process %d>", len(known)))
		}
	}
	RequireGolden(t, "transcript.txt", differs.ReplaceAllString(transcript, "${1}<...>"))
}

// RequireGolden compares a text with a file in testdata.
func RequireGolden(t *testing.T, name, got string) {
	t.Helper()
	golden := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got, "go test -update writes %s anew", golden)
}
