package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var updateDocs = flag.Bool("update-docs", false, "write the measured part of docs/fleet.md, and its plot, anew from testdata/fleet.json")

// The page has the table and the plot of the run in testdata, and that run broke
// no promise.
func TestPage(t *testing.T) {
	const (
		begin = "<!-- measured: go run ./sim -rate 600 -time 30s -json sim/testdata/fleet.json; go test ./sim -run Page -update-docs -->\n"
		end   = "<!-- end of what is measured -->\n"
	)
	docs := filepath.Join("..", "..", "..", "docs")
	data, err := os.ReadFile(filepath.Join("testdata", "fleet.json"))
	require.NoError(t, err)
	var r result
	require.NoError(t, json.Unmarshal(data, &r))
	require.False(t, r.Counts.failed())
	require.Positive(t, r.Counts.Ran)

	page, err := os.ReadFile(filepath.Join(docs, "fleet.md"))
	require.NoError(t, err)
	before, rest, ok := strings.Cut(string(page), begin)
	require.True(t, ok, "the page lacks %s", begin)
	shown, after, ok := strings.Cut(rest, end)
	require.True(t, ok, "the page lacks %s", end)
	measured := "\n" + r.table() + "\n"
	plot := filepath.Join(docs, "fleet.svg")
	if *updateDocs {
		require.NoError(t, os.WriteFile(filepath.Join(docs, "fleet.md"), []byte(before+begin+measured+end+after), 0o644))
		require.NoError(t, os.WriteFile(plot, []byte(r.plot()), 0o644))
		return
	}
	const again = "docs/fleet.md is out of date: go test ./sim -run Page -update-docs"
	require.Equal(t, measured, shown, again)
	svg, err := os.ReadFile(plot)
	require.NoError(t, err)
	if r.plot() != string(svg) {
		t.Error(again) // what differs says nothing
	}
}
