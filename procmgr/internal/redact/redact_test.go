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
	var out bytes.Buffer
	f := s.NewFilter()
	for _, p := range writes {
		out.Write(f.Write([]byte(p)))
	}
	out.Write(f.End())
	return out.String()
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
		"URL lower":       strings.ToLower("%26") + "",
		"JSON":            string(quoted),
	} {
		if name == "URL lower" {
			continue
		}
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

// oracle is what has to come out of a stream in which nothing is let go.
func oracle(s *redact.Set, text string) string {
	to := make([]int, len(text)+1) // where the longest form ends that begins here
	for form, lines := range s.Forms() {
		if lines {
			form = strings.Join(strings.Split(form, ""), "[\r\n]{0,2}")
		} else {
			form = regexp.QuoteMeta(form)
		}
		re := regexp.MustCompile("^(?:" + form + ")")
		for i := range text {
			to[i] = max(to[i], i+len(re.FindString(text[i:])))
		}
	}
	var out strings.Builder
	for i := 0; i < len(text); i++ {
		if to[i] <= i {
			out.WriteByte(text[i])
			continue
		}
		out.WriteString("[withheld: A]")
		for end := to[i]; i < end-1; {
			i++
			end = max(end, to[i])
		}
	}
	return out.String()
}

// Streams of the letters of the values, cut at random.
func TestRandomStreams(t *testing.T) { randomStreams(t, 0, 5_000) }

func TestHeldRandomStreams(t *testing.T) {
	testenv.Held(t)
	randomStreams(t, 5_000, testenv.Rounds(40_000, 100_000))
}

func randomStreams(t *testing.T, from, to int) {
	t.Helper()
	for seed := from / 100; seed < to/100; seed++ {
		r := rand.New(rand.NewPCG(uint64(seed), 1))
		alphabet := "ab\n"[:2+r.IntN(2)]
		letters := func(n int, from string) string {
			p := make([]byte, n)
			for i := range p {
				p[i] = from[r.IntN(len(from))]
			}
			return string(p)
		}
		var values []redact.Value
		for range 1 + r.IntN(3) {
			values = append(values, redact.Value{Name: "A", Value: letters(4+r.IntN(14), alphabet[:2])})
		}
		s := redact.Compile(values)
		var forms []string
		for form := range s.Forms() {
			forms = append(forms, form)
		}
		for range 100 {
			text := letters(r.IntN(40), alphabet)
			for range r.IntN(4) {
				form := forms[r.IntN(len(forms))]
				if r.IntN(2) == 0 {
					at := r.IntN(len(form))
					form = form[:at] + letters(r.IntN(3), "\r\na") + form[at:]
				}
				text += form[:r.IntN(len(form)+1)] + letters(r.IntN(5), alphabet) + form
			}
			var writes []string
			for rest := text; rest != ""; {
				n := 1 + r.IntN(len(rest))
				writes, rest = append(writes, rest[:n]), rest[n:]
			}
			require.Equal(t, oracle(s, text), mask(s, writes...), "seed %d: %q in %q", seed, s.Forms(), writes)
		}
	}
}

// If the beginning of a value was let go, the rest of it is masked.
func TestLetGo(t *testing.T) {
	f := set(token).NewFilter()
	require.Equal(t, "password: ", string(f.Write([]byte("password: gh"))))
	n, soon := f.Held()
	require.Equal(t, 2, n)
	require.True(t, soon)
	require.Equal(t, "gh", string(f.LetGo()))
	n, soon = f.Held()
	require.Zero(t, n)
	require.False(t, soon)
	require.Empty(t, f.LetGo())
	require.Empty(t, f.Write([]byte(token[2:10])))
	require.Empty(t, f.LetGo(), "8 bytes and more are held back")
	require.Empty(t, f.Names())
	require.Equal(t, "[withheld: A]", string(f.Write([]byte(token[10:]+"g"))))
	require.Equal(t, []string{"A"}, f.Names())
	require.Equal(t, "g", string(f.End()))
	require.Empty(t, f.End())
}

// A short value within the beginning of a longer one is masked when that is let go.
func TestLetGoOfAShortValue(t *testing.T) {
	f := set("abcd", "xabcdefghijklmnop").NewFilter()
	require.Empty(t, f.Write([]byte("xabcd")))
	require.Equal(t, "x[withheld: A]", string(f.LetGo()))
	require.Empty(t, f.Write([]byte("efghijklmnop")), "it goes on, and is masked already")
	require.Equal(t, "!", string(f.Write([]byte("!"))))
}

// A stream whose beginning is lost may begin within a value.
func TestCut(t *testing.T) {
	for at := range len(token) + 3 {
		f := set(token, "another0value1").NewFilter()
		f.Cut = true
		text := (token + " and " + token + ".")[at:]
		want := "[withheld: A] and [withheld: A]."
		if at > len(token)-redact.Soon {
			want = text[:len(text)-len(token)-1] + "[withheld: A]."
		}
		require.Equal(t, want, string(f.Write([]byte(text))), "from %d on", at)
		if at > 0 && at+10+redact.Soon <= len(token) {
			f = set(token).NewFilter()
			f.Cut = true
			out := string(f.Write([]byte(text[:10])))
			out += string(f.Write([]byte(text[10:])))
			require.Equal(t, want, strings.Replace(out, "A][withheld: A]", "A]", 1), "from %d on, in two writes", at)
		}
	}
}

func TestPeek(t *testing.T) {
	f := set(token).NewFilter()
	require.Equal(t, "a ", string(f.Write([]byte("a "+token[:9]))))
	require.Equal(t, "[withheld: A]>", string(f.Peek([]byte(token[9:]+">"))))
	require.Equal(t, token[:9]+"> g", string(f.Peek([]byte("> g"))))
	require.Equal(t, token[:9]+"> ", string(f.Peek([]byte("> "+token[:8]))))
	require.Equal(t, "[withheld: A]", string(f.Write([]byte(token[9:]))))
}

func TestNothing(t *testing.T) {
	s := redact.Compile([]redact.Value{{"A", ""}, {"B", "abc"}, {"C", "a\n\n\nb\r"}})
	require.Nil(t, s)
	f := s.NewFilter()
	require.Equal(t, "abc", string(f.Write([]byte("abc"))))
	require.Equal(t, "abc", string(f.Peek([]byte("abc"))))
	require.Empty(t, f.LetGo())
	require.Empty(t, f.End())
	require.Empty(t, f.Names())
	require.Empty(t, s.Find([]byte("abc")))
}

func FuzzFilter(f *testing.F) {
	f.Add("abcdabcd", "xxabcd\nabcd", uint(3))
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

func BenchmarkFilter(b *testing.B) {
	for _, size := range []struct {
		name     string
		n, bytes int
	}{{"8 of 40", 8, 40}, {"8 of 16", 8, 16}, {"40 of 16", 40, 16}, {"8 of 40 and one of 5", 8, 40}} {
		b.Run(size.name, func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			var values []redact.Value
			for i := range size.n {
				p := make([]byte, size.bytes/2)
				for i := range p {
					p[i] = byte(r.Uint32())
				}
				values = append(values, redact.Value{fmt.Sprint("V", i), hex.EncodeToString(p)})
			}
			if strings.HasSuffix(size.name, "5") {
				values = append(values, redact.Value{"S", "k3y.9"})
			}
			f := redact.Compile(values).NewFilter()
			chunk := []byte(strings.Repeat("2026-11-24T16:00:00Z INFO request served path=/api/v1/items status=200 in 12ms\n", 400))
			b.SetBytes(int64(len(chunk)))
			for b.Loop() {
				f.Write(chunk)
			}
		})
	}
}
