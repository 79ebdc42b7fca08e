package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
)

const token = "ghp_16C7e42F292c6912E7710c838347Ae178B4a"

func set(values ...string) *redact.Set {
	var all []redact.Value
	for i, value := range values {
		all = append(all, redact.Value{Name: string(rune('A' + i)), Value: value})
	}
	return redact.Compile(all)
}

// mask masks a stream that was split into writes.
func mask(s *redact.Set, writes ...string) string {
	var out []byte
	f := s.NewFilter()
	for _, p := range writes {
		out = f.Append(out, []byte(p))
	}
	return string(f.End(out))
}

func TestForms(t *testing.T) {
	const odd = "p&ss <w>\"/+?é=\\12345678"
	wrapped := func(text string, width int, end string) string {
		return regexp.MustCompile(fmt.Sprintf(".{%d}", width)).ReplaceAllString(text, "$0"+end)
	}
	quoted, err := json.Marshal(odd)
	require.NoError(t, err)
	for name, text := range map[string]string{
		"as it is":        token,
		"within words":    "x" + token + "y",
		"base64":          base64.StdEncoding.EncodeToString([]byte(token)),
		"base64 URL":      base64.URLEncoding.EncodeToString([]byte(odd)),
		"one before":      base64.StdEncoding.EncodeToString([]byte("x" + token + "y")),
		"two before":      base64.StdEncoding.EncodeToString([]byte("xx" + token + "yyyy")),
		"wrapped":         wrapped(base64.StdEncoding.EncodeToString([]byte("a longer text with "+token+" in it")), 20, "\n"),
		"wrapped by CRLF": wrapped(base64.StdEncoding.EncodeToString([]byte(token)), 4, "\r\n"),
		"a char a line":   wrapped(base64.StdEncoding.EncodeToString([]byte(token)), 1, "\n"),
		"hex":             hex.EncodeToString([]byte(token)),
		"HEX in lines":    wrapped(strings.ToUpper(hex.EncodeToString([]byte(token))), 7, "\n"),
		"URL query":       strings.ReplaceAll(url.QueryEscape(odd), "+", "%20"),
		"JSON":            string(quoted),
	} {
		out := mask(set(token, odd), text)
		require.Contains(t, out, "[withheld: ", name)
		for cut := range text {
			require.Equal(t, out, mask(set(token, odd), text[:cut], text[cut:]), "%s, cut at %d", name, cut)
		}
	}
	require.Equal(t, "TOKEN=[withheld: A]\n", mask(set(token), "TOKEN="+token+"\n"))
	require.Equal(t, "[withheld: A][withheld: A]", mask(set(token), token+token))
	require.Equal(t, token[:39]+"\n"+token[39:], mask(set(token), token[:39]+"\n"+token[39:]), "only base64 and hex are broken into lines")
}

// What the value alone decides of base64 is all of it that is not shared with its
// neighbours.
func TestBase64Places(t *testing.T) {
	for n := 12; n < 60; n++ {
		value := strings.Repeat("k7", 30)[:n]
		for before := range 7 {
			for after := range 7 {
				text := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("!", before) + value + strings.Repeat("?", after)))
				require.Contains(t, mask(set(value), text), "[withheld: A]", "%d bytes, %d before, %d after", n, before, after)
			}
		}
	}
}

// A form is a text in which a value has to be masked whole.
func randomForm(r *rand.Rand, value string) string {
	switch r.IntN(8) {
	case 0:
		return base64.StdEncoding.EncodeToString([]byte(value))
	case 1:
		return strings.TrimSpace(regexp.MustCompile(".{5}").ReplaceAllString(hex.EncodeToString([]byte(value)), "$0\r\n\t"))
	case 2:
		return url.QueryEscape(value)
	case 3:
		return url.PathEscape(value)
	case 4, 5:
		quoted, _ := json.Marshal(value)
		if r.IntN(2) == 0 {
			quoted, _ = json.Marshal(string(quoted))
		}
		return string(bytes.Trim(quoted, `\"`))
	case 6:
		return strings.ReplaceAll(value, "'", `'\''`)
	}
	return value
}

// Of streams of values in random forms, cut at random, only what is between them is left,
// and it doesn't matter where they are cut.
func TestRandomStreams(t *testing.T) { randomStreams(t, 0, 5_000) }

func TestHeldRandomStreams(t *testing.T) {
	testenv.Held(t)
	randomStreams(t, 5_000, testenv.Rounds(40_000, 100_000))
}

func randomStreams(t *testing.T, from, to int) {
	t.Helper()
	for seed := from / 100; seed < to/100; seed++ {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		value := func() string {
			text := "k7ab"
			for len(text) < 20 {
				text += []string{`"`, "/", "+", " ", "é", "'", "\n", `\`, "&", "1", "x", "Z"}[r.IntN(12)] + "ab"[:r.IntN(3)]
			}
			return text + "9f4k"
		}
		all := []string{value(), value(), "s3cr+t"}
		s := set(all...)
		for range 100 {
			var text, want strings.Builder
			for range r.IntN(5) {
				i := r.IntN(len(all))
				between := []string{"", "k", "k7", "k7a", "\n", "%", `\`, "'", `"`, "9", "s3cr "}[r.IntN(11)] + " .\n"
				form := all[i]
				if i < 2 {
					form = randomForm(r, form)
				}
				text.WriteString(between + "." + form + ".")
				want.WriteString(between + ".[withheld: " + string(rune('A'+i)) + "].")
			}
			var writes []string
			for rest := text.String(); rest != ""; {
				n := 1 + r.IntN(len(rest))
				writes, rest = append(writes, rest[:n]), rest[n:]
			}
			got := regexp.MustCompile(`\][A-Za-z0-9+/=]{1,3}\.`).ReplaceAllString(mask(s, writes...), "].") // base64 of what is behind
			require.Equal(t, want.String(), got, "seed %d: %q in %q", seed, all, writes)
		}
	}
}

// If the beginning of a value was let go, the rest of it is masked.
func TestLetGo(t *testing.T) {
	f := set(token).NewFilter()
	require.Equal(t, "password: ", string(f.Append(nil, []byte("password: gh"))))
	require.True(t, f.Held())
	require.Equal(t, "gh", string(f.LetGo(nil)))
	require.False(t, f.Held())
	require.Empty(t, f.LetGo(nil))
	require.Empty(t, f.Append(nil, []byte(token[2:10])))
	require.Empty(t, f.LetGo(nil), "8 bytes and more are held back")
	require.Empty(t, f.Names())
	require.Equal(t, "[withheld: A]", string(f.Append(nil, []byte(token[10:]+"g"))))
	require.Equal(t, []string{"A"}, f.Names())
	require.Equal(t, "g", string(f.End(nil)))
	require.Empty(t, f.End(nil))
}

func TestPeek(t *testing.T) {
	f := set(token).NewFilter()
	require.Equal(t, "a ", string(f.Append(nil, []byte("a "+token[:9]))))
	require.Equal(t, "[withheld: A]>", string(f.Peek([]byte(token[9:]+">"))))
	require.Equal(t, token[:9]+"> g", string(f.Peek([]byte("> g"))))
	require.Equal(t, token[:9]+"> ", string(f.Peek([]byte("> "+token[:8]))))
	require.Equal(t, "[withheld: A]", string(f.Append(nil, []byte(token[9:]))))
}

func TestNothing(t *testing.T) {
	s := redact.Compile([]redact.Value{{"A", ""}, {"B", "abc"}, {"C", "a\n\n\nb\r"}})
	require.Nil(t, s)
	f := s.NewFilter()
	require.Equal(t, "abc", string(f.Append(nil, []byte("abc"))))
	require.Equal(t, "abc", string(f.Peek([]byte("abc"))))
	require.Empty(t, f.LetGo(nil))
	require.Empty(t, f.End(nil))
	require.Empty(t, f.Names())
}

func FuzzFilter(f *testing.F) {
	f.Add("abcdabcd", "xxabcd\nabcd", uint(3))
	f.Add("0000", "000000000", uint(7))
	f.Add("ab'\"cd/+ef gh%41", `x ab'\''\"cd\/\u002bef gh%2541 ab%27%22cd/%2Bef+gh%41`, uint(30))
	f.Add("é/\n\\\"'x+yyyyyyy", `"\u00e9\/\n\\\"'x\\u002byyyyyyy"`, uint(7))
	f.Fuzz(func(t *testing.T, value, text string, cut uint) {
		if len(value) > 40 || len(text) > 200 {
			return
		}
		s := redact.Compile([]redact.Value{{"A", value}})
		if s == nil {
			return
		}
		at := int(cut % uint(len(text)+1))
		got := mask(s, text[:at], text[at:])
		require.Equal(t, mask(s, text), got)
	})
}
