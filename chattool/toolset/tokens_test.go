//go:build linux || darwin || freebsd

package toolset_test

import (
	"bytes"
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

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/testenv"
)

// The counts of tokens are checked in, each by the hash of its text: go test
// needs no tokenizer. With -update-docs they are made anew, and a step of CI
// counts all of them once more.
const (
	tokenCounts  = "testdata/tokens/counts.txt"
	tokenCounter = "testdata/tokens/count.sh"
	tokensAgain  = "its tokens have not been counted: with node and npm, go test ./chattool/toolset -run 'Corpus|Tokens' -update-docs"
)

// A tokenizer has the counts of texts.
type tokenizer struct {
	counts map[string]int
	used   map[string]int
}

func loadTokenizer(t testing.TB) *tokenizer {
	t.Helper()
	tok := &tokenizer{counts: map[string]int{}, used: map[string]int{}}
	data, err := os.ReadFile(tokenCounts)
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
	require.NoError(t, os.WriteFile(tokenCounts, []byte(b.String()), 0o644))
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
const definitionTokens = 715

func definitionsText(t testing.TB) string {
	t.Helper()
	type function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}
	var all []function
	for _, def := range toolset.New(nil, &toolset.Options{Shell: "bash"}).Definitions() {
		all = append(all, function{def.Name, def.Description, def.Schema})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	require.NoError(t, enc.Encode(all))
	return b.String()
}

func TestTokensOfDefinitions(t *testing.T) {
	tok := loadTokenizer(t)
	text := definitionsText(t)
	tok.learn(t, []string{text})
	require.Equal(t, definitionTokens, tok.count(t, text), "set definitionTokens to what the definitions take now")
	if *updateDocs {
		tok.save(t, func(string) bool { return true })
	}
}
