//go:build unix

package proclocal_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/randre"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// printed writes a text to a file and returns a command that prints it in
// pieces of random length, each by a write of its own.
func printed(t *testing.T, r *rand.Rand, text string) (command string) {
	t.Helper()
	dir := t.TempDir()
	var b strings.Builder
	fmt.Fprintf(&b, "cd %s\n", dir)
	for n := 0; text != ""; n++ {
		piece := text[:min(len(text), 1+r.IntN(40))]
		text = text[len(piece):]
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprint(n)), []byte(piece), 0o600))
		fmt.Fprintf(&b, "cat %d\n", n)
	}
	return b.String()
}

// The text of a process never has a secret in it, wherever the writes are cut,
// and everything else in it is as the process printed it.
func TestRedactRandomOutput(t *testing.T) {
	redactRandomOutput(t, 0, 5)
}

func TestHeldRedactRandomOutput(t *testing.T) {
	testenv.Held(t)
	redactRandomOutput(t, 5, testenv.Rounds(60, 1000))
}

func redactRandomOutput(t *testing.T, from, to int) {
	t.Helper()
	const secret = "k7Zq1vXw0TnB4yGsQ2"
	l := newLocal(t, &proclocal.Options{Redact: []proclocal.Secret{{Name: "KEY", Value: secret}}})
	forms := []string{
		secret, base64.StdEncoding.EncodeToString([]byte(secret)), hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))),
	}
	for seed := from; seed < to; seed++ {
		r := rand.New(rand.NewPCG(uint64(seed), 2))
		var text, want strings.Builder
		text.WriteByte('-')
		want.WriteByte('-')
		for range 20 {
			if r.IntN(3) == 0 {
				text.WriteString(forms[r.IntN(len(forms))])
				want.WriteString("[withheld: KEY]")
			}
			// A prefix of the secret is no secret. The hyphens keep what is
			// around them from being read as more base64 or hex.
			plain := "-" + secret[:r.IntN(8)] + strings.Repeat("-é\n", 1+r.IntN(5)) + "-"
			text.WriteString(plain)
			want.WriteString(plain)
		}
		got := run(t, l, printed(t, r, text.String())).Text
		for _, form := range forms {
			// A few bytes that may begin a secret are not held back for long: they
			// may be a prompt.
			for n := 1; n < 8; n++ {
				got = strings.ReplaceAll(got, "-"+form[:n]+"[withheld: KEY]", "-[withheld: KEY]")
			}
		}
		require.Equal(t, want.String(), got, "seed %d", seed)
	}
}

// A wait for a pattern finds the first line that package regexp finds.
func TestUntilOfRandomPatterns(t *testing.T) {
	untilOfRandomPatterns(t, 0, 5)
}

func TestHeldUntilOfRandomPatterns(t *testing.T) {
	testenv.Held(t)
	untilOfRandomPatterns(t, 5, testenv.Rounds(40, 400))
}

func untilOfRandomPatterns(t *testing.T, from, to int) {
	t.Helper()
	l := newLocal(t, nil)
	for seed := from; seed < to; seed++ {
		r := rand.New(rand.NewPCG(uint64(seed), 3))
		text := strings.ToValidUTF8(string(randre.Text(r, 400)), "\ufffd")
		id := run(t, l, printed(t, r, text)).Process.ID
		out := output(t, l, id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: -1}})
		require.Equal(t, text, out.Text, "seed %d", seed)
		for range 30 {
			pattern := randre.Pattern(r, 3)
			out, err := l.Output(t.Context(), id, procmgr.OutputRequest{Until: pattern})
			if err != nil { // no line can match it
				require.ErrorIs(t, err, procmgr.ErrInvalid)
				continue
			}
			// An empty text after the last newline is no line.
			matched, line, re := false, "", regexp.MustCompile(pattern)
			for one := range strings.Lines(text) {
				one = strings.TrimSuffix(one, "\n")
				if matched = re.MatchString(one); matched {
					line = one
					break
				}
			}
			require.Equal(t, matched, out.Matched, "seed %d: %s in %q", seed, pattern, text)
			if len(line) < 200 && pattern != "." { // a longer one is cut
				require.Equal(t, line, out.MatchedLine, "seed %d: %s", seed, pattern)
			}
		}
	}
}
