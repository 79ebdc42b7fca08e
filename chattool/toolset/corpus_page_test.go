//go:build linux || darwin || freebsd

package toolset_test

import (
	"cmp"
	"flag"
	"fmt"
	"math"
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

// todaysTokens is what the results of the corpus in JSON took before a model
// could set a budget, at 32 KiB each, and todaysSeen is how many of the wanted
// lines they showed.
const (
	todaysTokens = 376682
	todaysSeen   = 58
)

// checkTargets fails if highlights show less than they are meant to.
func checkTargets(t *testing.T, all, heldout []measurement) {
	least := map[int]int{8 << 10: 18, 20 << 10: 19, 32 << 10: 20} // recordings of the corpus with all wanted lines
	ratio := map[int]float64{8 << 10: 2, 32 << 10: 1.5}           // lines of heldout, beside head and tail
	for i, size := range sizes {
		of := func(s sized) sight { return s.text }
		whole, _ := tally(all, i, of)
		require.GreaterOrEqual(t, whole, least[size], "%d", size)
		_, seen := tally(heldout, i, of)
		_, plain := tally(heldout, i, func(s sized) sight { return s.headTail })
		require.GreaterOrEqual(t, float64(seen), ratio[size]*float64(plain), "%d", size)
		for _, m := range slices.Concat(all, heldout) {
			require.GreaterOrEqual(t, m.sized[i].text.seen, m.sized[i].headTail.seen-1, "%s, %d", m.name, size)
			require.GreaterOrEqual(t, m.sized[i].json.seen, m.sized[i].headTail.seen-1, "%s, %d", m.name, size)
		}
	}
}

// tally counts the recordings whose wanted lines are all seen, and the wanted lines
// seen in all recordings.
func tally(all []measurement, size int, of func(sized) sight) (whole, seen int) {
	for _, m := range all {
		n := of(m.sized[size]).seen
		seen += n
		if len(m.wanted) > 0 && n == len(m.wanted) {
			whole++
		}
	}
	return whole, seen
}

// checkPage fails if the page or its plot differs from the measurements.
func checkPage(t *testing.T, all, heldout []measurement) {
	// Others have another idea of what a binary file is, and of expressions.
	if version, _ := exec.Command("grep", "--version").Output(); !strings.Contains(string(version), "GNU grep") {
		testenv.Lacks(t, "grep", "the page was measured with GNU grep")
	}
	tok := loadTokenizer(t)
	var texts []string
	for _, half := range [][]measurement{all, heldout} {
		slices.SortStableFunc(half, func(a, b measurement) int {
			return cmp.Compare(len(b.raw), len(a.raw))
		})
		for _, m := range half {
			texts = append(texts, string(m.raw))
			for _, s := range m.sized {
				texts = append(texts, s.headTail.text, s.json.text, s.text.text)
			}
		}
	}
	definitions := definitionsText(t)
	tok.learn(t, texts)
	count := func(text string) int { return tok.count(t, text) }
	given := 0
	for _, m := range all {
		given += count(m.result.text)
	}
	require.LessOrEqual(t, given, todaysTokens*6/10)
	_, seen := tally(all, slices.Index(sizes, defaultSize), func(s sized) sight { return s.json })
	require.Greater(t, seen, todaysSeen)

	page, err := os.ReadFile(corpusPage)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(page), corpusBegin)
	require.True(t, ok, "the page lacks %s", corpusBegin)
	shown, after, ok := strings.Cut(rest, corpusEnd)
	require.True(t, ok, "the page lacks %s", corpusEnd)
	measured, drawn := tables(all, heldout, count), plot(all)
	tok.save(t, func(hash string) bool { return hash == hashOf(definitions) })
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
func tables(all, heldout []measurement, count func(text string) int) string {
	var b strings.Builder
	for _, half := range []struct {
		name string
		all  []measurement
	}{{"The corpus", all}, {"Held out", heldout}} {
		asked, lines, printed := 0, 0, 0
		for _, m := range half.all {
			lines += len(m.wanted)
			printed += count(string(m.raw))
			if len(m.wanted) > 0 {
				asked++
			}
		}
		fmt.Fprintf(&b, "\n### %s\n\n%d recordings printed %s tokens. %d of them have wanted lines, %d in all. Each cell has the recordings of which all wanted lines are visible, the wanted lines that are, and the tokens of all %d texts.\n\n",
			half.name, len(half.all), number(printed), asked, lines, len(half.all))
		b.WriteString("| bytes | head and tail | result in JSON | result as text |\n|---:|---:|---:|---:|\n")
		for i, size := range sizes {
			fmt.Fprintf(&b, "| %s |", number(size))
			for _, of := range []func(sized) sight{
				func(s sized) sight { return s.headTail },
				func(s sized) sight { return s.json },
				func(s sized) sight { return s.text },
			} {
				whole, seen := tally(half.all, i, of)
				tokens := 0
				for _, m := range half.all {
					tokens += count(of(m.sized[i]).text)
				}
				fmt.Fprintf(&b, " %d, %d lines, %s |", whole, seen, number(tokens))
			}
			b.WriteString("\n")
		}
		b.WriteString("\n| recording | printed | tokens | plain text | head and tail, 32 KiB | result in JSON | as text | generic grep | own grep |\n")
		b.WriteString("|---|---:|---:|---:|---:|---:|---:|---:|---:|\n")
		byDefault := slices.Index(sizes, defaultSize)
		for _, m := range half.all {
			plain := "="
			if m.plain != len(m.raw) {
				plain = number(m.plain)
			}
			generic, own := "", ""
			if m.result.seen < len(m.wanted) {
				generic, own = m.cell(m.generic), m.cell(m.own)
			}
			tokens := func(s sight) string {
				s.bytes = count(s.text)
				return m.cell(s)
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n",
				m.name, number(len(m.raw)), number(count(string(m.raw))), plain, tokens(m.sized[len(sizes)-1].headTail),
				tokens(m.result), tokens(m.sized[byDefault].text), generic, own)
		}
		b.WriteString("\n| recording | command | exit code |\n|---|---|---|\n")
		for _, m := range half.all {
			fmt.Fprintf(&b, "| %s | `%s` | %d |\n", m.name, m.command, m.exitCode)
		}
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

// The plot's measures, in pixels. Its colors are neither light nor dark, so that
// they can be read on a page that is either; nothing is painted behind them.
const (
	plotWidth  = 760
	plotLeft   = 112 // where the bars begin
	plotRight  = 60  // room behind the longest bar
	plotTop    = 64  // where the first row begins
	plotRow    = 29
	plotBar    = 7
	plotFirst  = 100     // bytes at the left end of the scale
	plotLast   = 2000000 // bytes at its right end
	plotText   = "#768390"
	plotRaw    = "#9aa4af"
	plotCut    = "#c8811e"
	plotResult = "#3b82d6"
)

// plot draws the measurements as an SVG: for each recording the bytes printed, the
// bytes of head and tail, and the bytes of the result.
func plot(all []measurement) string {
	var b strings.Builder
	height := plotTop + plotRow*len(all) + 8
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="11" fill="%s">`+"\n",
		plotWidth, height, plotWidth, height, plotText)
	b.WriteString("<title>Bytes printed, and bytes that reach a model</title>\n")
	b.WriteString("<desc>For each recording three bars on a logarithmic scale: what was printed, its head and tail, and the result of execute. Behind the last two: how many of the wanted lines are in them, and how many after one search of the log. The table on the page has the numbers.</desc>\n")

	x := plotLeft
	for _, key := range []struct {
		color, label string
		width        int
	}{
		{plotRaw, "printed", 80},
		{plotCut, "head and tail of the raw bytes", 195},
		{plotResult, "the result of execute", 140},
	} {
		fmt.Fprintf(&b, `<rect x="%d" y="10" width="10" height="10" rx="2" fill="%s"/><text x="%d" y="19">%s</text>`+"\n", x, key.color, x+15, key.label)
		x += key.width
	}
	fmt.Fprintf(&b, `<text x="%d" y="38">1 of 3: so many of the wanted lines are in it; a hollow bar lacks some. 3 by grep: after one search of the log</text>`+"\n", plotLeft)

	for _, tick := range []struct {
		bytes int
		label string
	}{{1000, "1 kB"}, {10000, "10 kB"}, {100000, "100 kB"}, {1000000, "1 MB"}} {
		x := plotLeft + barLength(tick.bytes)
		fmt.Fprintf(&b, `<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="%s" stroke-opacity="0.3"/><text x="%.1f" y="%d" text-anchor="middle" font-size="9">%s</text>`+"\n",
			x, plotTop-6, x, height-6, plotText, x, plotTop-9, tick.label)
	}
	for i, m := range all {
		y := plotTop + plotRow*i
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="end">%s</text>`+"\n", plotLeft-8, y+15, m.name)
		drawBar(&b, y, len(m.raw), plotRaw, "", false)
		for j, s := range []sight{m.headTail, m.result} {
			label, hollow := "", s.seen < len(m.wanted)
			if len(m.wanted) > 0 {
				label = m.of(s)
			}
			if j == 1 && hollow {
				label += fmt.Sprintf(", %d by grep", m.own.seen)
			}
			drawBar(&b, y+(j+1)*(plotBar+1), s.bytes, []string{plotCut, plotResult}[j], label, hollow)
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// drawBar draws one bar; its label stands behind it.
func drawBar(b *strings.Builder, y, bytes int, color, label string, hollow bool) {
	length := barLength(bytes)
	fill := fmt.Sprintf(`fill="%s"`, color)
	if hollow {
		fill = fmt.Sprintf(`fill="%s" fill-opacity="0.15" stroke="%s"`, color, color)
	}
	fmt.Fprintf(b, `<rect x="%d" y="%.1f" width="%.1f" height="%d" %s/>`, plotLeft, float64(y)+0.5, length, plotBar-1, fill)
	if label != "" {
		fmt.Fprintf(b, `<text x="%.1f" y="%d" font-size="8">%s</text>`, plotLeft+length+4, y+plotBar-1, label)
	}
	b.WriteString("\n")
}

// barLength returns how far a number of bytes reaches on the scale.
func barLength(bytes int) float64 {
	part := math.Log(float64(max(bytes, plotFirst))/plotFirst) / math.Log(float64(plotLast)/plotFirst)
	return math.Round(part*(plotWidth-plotLeft-plotRight)*10) / 10
}
