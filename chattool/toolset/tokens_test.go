//go:build linux || darwin || freebsd

package toolset_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
)

// The counts of tokens are checked in, each by the hash of its text: go test
// needs no tokenizer. With -update-docs they are made anew, and a step of CI
// counts all of them once more.
const (
	tokenCounts  = "testdata/tokens/counts.txt"
	tokenCounter = "testdata/tokens/count.sh"
	tokensAgain  = "its tokens have not been counted: with node and npm, go test ./chattool/toolset -run 'Corpus|Tokens|Loops' -update-docs"
)

// A tokenizer has the counts of texts.
type tokenizer struct {
	path   string // of the file with them
	counts map[string]int
	used   map[string]int
}

func loadTokenizer(t testing.TB) *tokenizer { t.Helper(); return loadTokenizerAt(t, tokenCounts) }

func loadTokenizerAt(t testing.TB, path string) *tokenizer {
	t.Helper()
	tok := &tokenizer{path: path, counts: map[string]int{}, used: map[string]int{}}
	data, err := os.ReadFile(path)
	if os.IsNotExist(err) && *updateDocs {
		return tok
	}
	require.NoError(t, err)
	for line := range strings.Lines(string(data)) {
		hash, count, ok := strings.Cut(strings.TrimSpace(line), " ")
		require.True(t, ok, line)
		tok.counts[hash], err = strconv.Atoi(count)
		require.NoError(t, err, line)
	}
	return tok
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:10])
}

// learn counts the texts anew if that is asked for. In CI it compares what it
// counts.
func (tok *tokenizer) learn(t testing.TB, texts []string) {
	t.Helper()
	check := os.Getenv("TOOLPROC_COUNT_TOKENS") != ""
	if !*updateDocs && !check {
		return
	}
	for i, n := range countTokens(t, texts) {
		hash := hashOf(texts[i])
		if check {
			require.Equal(t, n, tok.counts[hash], "%.60q…: %s", texts[i], tokensAgain)
		}
		tok.counts[hash] = n
	}
}

// count returns the tokens of a text.
func (tok *tokenizer) count(t testing.TB, text string) int {
	t.Helper()
	hash := hashOf(text)
	n, ok := tok.counts[hash]
	if !ok {
		t.Fatalf("%.60q…: %s", text, tokensAgain)
	}
	tok.used[hash] = n
	return n
}

// save writes the counts that were used, if that is asked for. keep says which of
// the others stay.
func (tok *tokenizer) save(t testing.TB, keep func(hash string) bool) {
	t.Helper()
	if !*updateDocs {
		return
	}
	for hash, n := range tok.counts {
		if keep(hash) {
			tok.used[hash] = n
		}
	}
	var b strings.Builder
	for _, hash := range slices.Sorted(maps.Keys(tok.used)) {
		fmt.Fprintf(&b, "%s %d\n", hash, tok.used[hash])
	}
	require.NoError(t, os.WriteFile(tok.path, []byte(b.String()), 0o644))
}

// countTokens counts the tokens of o200k_base in texts.
func countTokens(t testing.TB, texts []string) []int {
	t.Helper()
	testenv.Programs(t, "node", "npm")
	input, err := json.Marshal(texts) // each invalid byte becomes U+FFFD
	require.NoError(t, err)
	command := exec.Command("bash", tokenCounter)
	command.Stdin, command.Stderr = bytes.NewReader(input), os.Stderr
	output, err := command.Output()
	require.NoError(t, err)
	var counts []int
	for _, line := range strings.Fields(string(output)) {
		n, err := strconv.Atoi(line)
		require.NoError(t, err)
		counts = append(counts, n)
	}
	require.Len(t, counts, len(texts))
	return counts
}

// definitionTokens is how many tokens the four definitions take, as a provider
// gets them. Each call of a model pays for them, so a change has to say what it
// costs here. Before max_output, wait_for_port and the others they took 722.
const definitionTokens = 735

func definitionsText(t testing.TB) string {
	t.Helper()
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	var all []function
	for _, def := range newSet(toolset.Static(&shelled{fake: &fake{}, name: "bash"}), nil).Definitions() {
		all = append(all, function{def.Name, def.Description, def.Schema})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(all))
	return b.String()
}

// shortTexts are short results, as a model reads them: a list of 8 processes,
// and a command that still runs, each in JSON and as text.
func shortTexts(t testing.TB) (texts []string) {
	t.Helper()
	m := &fake{start: func(context.Context, procmgr.StartRequest) (procmgr.Output, error) {
		out := running("npc5orns6a", "compiling 1 of 300\n")
		out.Process.Elapsed = 10 * time.Second
		return out, nil
	}, list: func(context.Context) (all []procmgr.Process, err error) {
		for i, command := range []string{"npm run dev", "go test ./...", "make -j4 -k", "python3 server.py", "git fetch origin", "cargo build --release", "pytest -v", "docker compose up db"} {
			p := exited("npc5orns6"+string(rune('a'+i)), i%2, "").Process
			p.Command, p.Elapsed = command, time.Duration(i+2)*time.Hour+time.Minute
			if i < 3 {
				p.State, p.ExitCode = procmgr.Running, nil
			}
			all = append(all, p)
		}
		return all, nil
	}}
	for _, call := range []toolset.Call{
		{Name: "process_list", Arguments: []byte(`{}`)},
		{Name: "execute", Arguments: []byte(`{"command":"make"}`)},
	} {
		for _, format := range []toolset.Format{toolset.FormatJSON, toolset.FormatText} {
			opts := fixed()
			opts.Format = format
			texts = append(texts, newSet(toolset.Static(m), opts).Call(t.Context(), call).Content)
		}
	}
	return texts
}

// Each number here is what a model pays for again and again. Before results were
// made shorter, the list took 521 tokens in JSON, and the result 114.
func TestTokensOfShortTexts(t *testing.T) {
	tok := loadTokenizer(t)
	texts := append(shortTexts(t), definitionsText(t))
	tok.learn(t, texts)
	var counts []int
	for _, text := range texts {
		counts = append(counts, tok.count(t, text))
	}
	if *updateDocs {
		tok.save(t, func(string) bool { return true })
	}
	require.Equal(t, []int{235, 148, 99, 85, definitionTokens}, counts, "change what the text takes now:\n%s", strings.Join(texts, "\n"))
}
