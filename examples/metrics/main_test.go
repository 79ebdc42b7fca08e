package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// It prints a span for each call and for each start, and what was measured.
func TestRun(t *testing.T) {
	text, err := run(t.Context())
	require.NoError(t, err)
	require.Equal(t, 6, strings.Count(text, " execute_tool execute "), text)
	require.Equal(t, 6, strings.Count(text, " process  "), text)
	text = regexp.MustCompile(" +").ReplaceAllString(text, " ") // the columns
	for _, line := range []string{
		"gen_ai.tool.call.id=call_2 process.exit.code=3",
		"toolproc.output.bytes=588895",
		"error.type=limit",
		"toolproc.process.ended_by=shutdown",
		"toolproc.process.living state=running 2\n",
		"toolproc.process.living state=detached 0\n",
		"toolproc.process.refusals reason=limit 1\n",
		"toolproc.process.duration ended_by=shutdown 2 times\n",
	} {
		require.Contains(t, text, line)
	}
}
