//go:build unix

package readme_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	fleetPage   = "contrib/procnats/README.md"
	serverTests = "contrib/procnats/servertest/"
)

// The page is about a module of its own, whose tests compile and run what it
// shows.
var fleetRules = []rule{
	{page: fleetPage, has: "NATS server -- stream", run: drawing},
	{page: fleetPage, language: "go", has: "HandlerOptions{Insecure: true}", run: fleetExample, elsewhere: true},
	{page: fleetPage, language: "go", has: "procnats.Transport(", run: fleetExample, elsewhere: true},
	{page: fleetPage, language: "go", has: "procnats.EndsConfig()", run: fleetExample, elsewhere: true},
	{page: fleetPage, language: "go", has: "procnats.ParseEnd(", run: fleetExample, elsewhere: true},
	{page: fleetPage, language: "go", has: "procnats.NewPlacer(", run: placerExample, elsewhere: true},
	{page: fleetPage, language: "go", has: "makeMachine(ctx)", run: placerExample, elsewhere: true},
	{page: fleetPage, language: "conf", has: "accounts {", run: fleetConfiguration},
}

// The examples of procnats and of its Placer.
var (
	fleetExample  = inExamples(serverTests + "example_test.go")
	placerExample = inExamples(serverTests+"example_placer_test.go", "contrib/procnats/example_test.go")
)

// inExamples looks for a block in files of examples, which the tests of their module run.
func inExamples(files ...string) func(*testing.T, *pages, block) {
	return func(t *testing.T, _ *pages, b block) {
		var all strings.Builder
		for _, name := range files {
			all.WriteString(unindented(read(t, name)))
		}
		require.Contains(t, all.String(), unindented(b.text))
	}
}

// unindented returns a text whose lines have no white space at their beginning.
func unindented(text string) string {
	var all strings.Builder
	for line := range strings.Lines(text) {
		all.WriteString(strings.TrimLeft(line, "\t "))
	}
	return all.String()
}

// fleetConfiguration is loaded by the tests of procnats, which attack it.
func fleetConfiguration(t *testing.T, _ *pages, _ block) {
	test := read(t, serverTests+"fleet_test.go")
	require.Contains(t, test, `"..", "README.md")`)
	require.Contains(t, test, "```conf\\n")
}
