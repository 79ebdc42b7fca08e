//go:build linux || darwin || freebsd

package toolset_test

import (
	"fmt"
	"math"
	"strings"
)

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

// plot draws what was measured as an SVG: for each recording the bytes printed,
// those of head and tail, and those of the result.
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
