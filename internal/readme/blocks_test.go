//go:build unix

// Package readme_test tests the documentation. It compiles and runs every
// fenced block of every page, or compares the block with the thing that it
// shows. A block that no rule knows is a failure.
package readme_test

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
)

// A block is a fenced block of a page.
type block struct {
	page     string // such as "docs/processes.md"
	line     int    // of its first line
	language string // the word after the fence
	text     string
}

func (b block) String() string { return fmt.Sprintf("%s:%d", b.page, b.line) }

// A rule says how a block is tested. A page may have one block for each rule,
// unless many is set.
type rule struct {
	page, language string
	has            string // a text that only this block has
	many           bool

	// If a Go block is no whole program, it replaces BLOCK in program. The
	// packages that it uses are imported. See complete.
	program string
	// instead has the texts that must differ in a test, and their
	// replacements. A program finds addresses and directories in its
	// environment.
	instead map[string]string
	// elsewhere: the block is of a module that users of the library do not have,
	// and the tests of that module compile it.
	elsewhere bool
	// files are compiled with the program.
	files map[string]string
	// variants are other programs, made of the same block by replacing more.
	variants map[string]map[string]string
	// run tests the block. b is the block as the page has it.
	run func(t *testing.T, p *pages, b block)
}

// pages has all blocks, and the programs that were made of them.
type pages struct {
	blocks   map[string]block  // by the text that their rule looks for
	programs map[string]string // the program's file, by the same or by the variant's name
}

// rules has every block of the documentation.
var rules = slices.Concat(readmeRules, docsRules, reachRules, fleetRules, mcpRules, acpRules, viewRules, withRules, procotelRules)

func TestHeldBlocks(t *testing.T) {
	testenv.Held(t)
	all := readBlocks(t)
	p := &pages{blocks: make(map[string]block), programs: make(map[string]string)}
	of := make(map[block]rule)
	for _, b := range all {
		for _, r := range rules {
			if b.page != r.page || b.language != r.language || !strings.Contains(b.text, r.has) {
				continue
			}
			require.Empty(t, of[b].page, "%s: two rules are for it", b)
			require.True(t, r.many || p.blocks[r.has].page == "", "%s: the rule for %q is for one block", b, r.has)
			of[b], p.blocks[r.has] = r, b
		}
		require.NotEmpty(t, of[b].page, "%s: there is no rule for this block (language %q); add one that runs it", b, b.language)
	}
	for _, r := range rules {
		require.NotEmpty(t, p.blocks[r.has].page, "a rule looks for %q in %s, and there is no such block", r.has, r.page)
	}
	p.compile(t, all, of)
	for _, b := range all {
		t.Run(b.String(), func(t *testing.T) { of[b].run(t, p, b) })
	}
}

// readBlocks returns the blocks of every page of the repository.
func readBlocks(t *testing.T) []block {
	t.Helper()
	var all []block
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "testdata"):
			return fs.SkipDir
		case filepath.Ext(name) != ".md":
			return nil
		}
		page, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		page = filepath.ToSlash(page)
		blocks, problem := blocksOf(page, read(t, page))
		require.Empty(t, problem)
		all = append(all, blocks...)
		return nil
	})
	require.NoError(t, err)
	require.NotEmpty(t, all)
	return all
}

// blocksOf returns the blocks of a page, or an error if it would overlook one.
func blocksOf(page, text string) (blocks []block, problem string) {
	const fence = "```"
	var open *block
	before := ""
	n := 0
	for line := range strings.Lines(text) {
		n++
		switch {
		case open != nil && strings.TrimRight(line, " \n") == fence:
			blocks = append(blocks, *open)
			open = nil
		case open != nil:
			open.text += line
		case strings.HasPrefix(line, fence):
			open = &block{page: page, line: n + 1, language: strings.TrimSpace(line[len(fence):])}
		case strings.HasPrefix(strings.TrimSpace(line), fence), strings.HasPrefix(line, "~~~"):
			return nil, fmt.Sprintf("%s:%d: a fence is ``` at the beginning of its line", page, n)
		case before == "\n" && (strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")):
			return nil, fmt.Sprintf("%s:%d: this may be a block without a fence", page, n)
		}
		before = line
	}
	if open != nil {
		return nil, fmt.Sprintf("%s: the fence has no end", *open)
	}
	return blocks, ""
}
