//go:build linux || darwin || freebsd

package toolset_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/internal/wording"
)

// The page that tells of the corpus, and what is measured in it.
const (
	corpusPage  = "../../docs/output.md"
	corpusBegin = "<!-- measured: go test ./chattool/toolset -run Corpus -update-docs -->\n"
	corpusEnd   = "<!-- end of what is measured -->\n"
)

var updateDocs = flag.Bool("update-docs", false, "write the measured part of docs/output.md anew")

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

// checkPage fails if the page differs from the measurements.
func checkPage(t *testing.T, all, heldout []measurement) {
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

	page, err := os.ReadFile(corpusPage)
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(page), corpusBegin)
	require.True(t, ok, "the page lacks %s", corpusBegin)
	shown, after, ok := strings.Cut(rest, corpusEnd)
	require.True(t, ok, "the page lacks %s", corpusEnd)
	measured := tables(all, heldout, count)
	tok.save(t, func(hash string) bool { return hash == hashOf(definitions) })
	if *updateDocs {
		require.NoError(t, os.WriteFile(corpusPage, []byte(before+corpusBegin+measured+corpusEnd+after), 0o644))
		return
	}
	require.Equal(t, measured, shown, "docs/output.md is out of date: go test ./chattool/toolset -run Corpus -update-docs")
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
			half.name, len(half.all), wording.Grouped(int64(printed)), asked, lines, len(half.all))
		b.WriteString("| bytes | head and tail | result in JSON | result as text |\n|---:|---:|---:|---:|\n")
		for i, size := range sizes {
			fmt.Fprintf(&b, "| %s |", wording.Grouped(int64(size)))
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
				fmt.Fprintf(&b, " %d, %d lines, %s |", whole, seen, wording.Grouped(int64(tokens)))
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n")
	return b.String()
}
