//go:build linux || darwin || freebsd

package toolset_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
)

// The page that tells of the corpus, what is measured in it, and its plot.
const (
	corpusPage  = "../../docs/output.md"
	corpusPlot  = "../../docs/output.svg"
	corpusBegin = "<!-- measured: go test ./chattool/toolset -run Corpus -update-docs -->\n"
	corpusEnd   = "<!-- end of what is measured -->\n"
)

var updateDocs = flag.Bool("update-docs", false, "write the measured part of docs/output.md, and its plot, anew")

// checkPage fails if the page or its plot differs from the measurements.
func checkPage(t *testing.T, all []measurement) {
	// Others have another idea of what a binary file is, and of expressions.
	if version, _ := exec.Command("grep", "--version").Output(); !strings.Contains(string(version), "GNU grep") {
		testenv.Lacks(t, "grep", "the page was measured with GNU grep")
	}
	slices.SortStableFunc(all, func(a, b measurement) int {
		return cmp.Compare(len(b.raw), len(a.raw))
	})
	page, err := os.ReadFile(corpusPage)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(page), corpusBegin)
	require.True(t, ok, "the page lacks %s", corpusBegin)
	shown, after, ok := strings.Cut(rest, corpusEnd)
	require.True(t, ok, "the page lacks %s", corpusEnd)
	measured, drawn := tables(all), plot(all)
	if *updateDocs {
		require.NoError(t, os.WriteFile(corpusPage, []byte(before+corpusBegin+measured+corpusEnd+after), 0o644))
		require.NoError(t, os.WriteFile(corpusPlot, []byte(drawn), 0o644))
		return
	}
	const again = "docs/output.md is out of date: go test ./chattool/toolset -run Corpus -update-docs"
	require.Equal(t, measured, shown, again)
	svg, err := os.ReadFile(corpusPlot)
	require.NoError(t, err)
	if drawn != string(svg) {
		t.Error(again) // what differs says nothing
	}
}

// tables writes what was measured in Markdown.
func tables(all []measurement) string {
	var b strings.Builder
	var printed, given, headTail, result, generic, own, asked int
	for _, m := range all {
		printed += len(m.raw)
		given += m.encoded
		if len(m.wanted) == 0 {
			continue
		}
		asked++
		for _, count := range []struct {
			all  *int
			seen int
		}{{&headTail, m.headTail.seen}, {&result, m.result.seen}, {&generic, m.generic.seen}, {&own, m.own.seen}} {
			if count.seen == len(m.wanted) {
				*count.all++
			}
		}
	}
	fmt.Fprintf(&b, "\n%d recordings have wanted lines. All of these lines are visible in\n\n", asked)
	fmt.Fprintf(&b, "| | recordings |\n|---|---|\n| head and tail of the raw bytes | %d |\n| the result | %d |\n", headTail, result)
	fmt.Fprintf(&b, "| the result and one generic grep | %d |\n| the result and one grep for the missing lines | %d |\n\n", generic, own)
	fmt.Fprintf(&b, "All %d recordings together printed %s bytes, some %s tokens. Their results have %s bytes, some %s tokens.\n\n",
		len(all), number(printed), number(printed/4), number(given), number(given/4))

	b.WriteString("| recording | printed | plain text | head and tail | result | in JSON | generic grep | own grep |\n")
	b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|\n")
	for _, m := range all {
		plain := "="
		if m.plain != len(m.raw) {
			plain = number(m.plain)
		}
		generic, own := "", ""
		if m.result.seen < len(m.wanted) {
			generic, own = m.cell(m.generic), m.cell(m.own)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s |\n",
			m.name, number(len(m.raw)), plain, m.cell(m.headTail), m.cell(m.result), number(m.encoded), generic, own)
	}
	b.WriteString("\n| recording | command | exit code |\n|---|---|---|\n")
	for _, m := range all {
		fmt.Fprintf(&b, "| %s | `%s` | %d |\n", m.name, m.command, m.exitCode)
	}
	b.WriteString("\n")
	return b.String()
}

// cell says how many bytes there are and how many wanted lines are seen, bold
// where one is missing.
func (m measurement) cell(s sight) string {
	size := number(s.bytes)
	if s.binary {
		size = "“binary file matches”"
	}
	switch {
	case len(m.wanted) == 0:
		return size
	case s.seen < len(m.wanted):
		return size + ", **" + m.of(s) + "**"
	}
	return size + ", " + m.of(s)
}

// of says how many wanted lines are seen.
func (m measurement) of(s sight) string {
	return fmt.Sprintf("%d of %d", s.seen, len(m.wanted))
}

// number writes a number with a comma before each three digits.
func number(n int) string {
	digits := strconv.Itoa(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}
