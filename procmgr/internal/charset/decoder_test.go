package charset_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/unicode"

	"github.com/toolproc/toolproc/procmgr/internal/charset"
)

func encoded(t testing.TB, e encoding.Encoding, text string) string {
	t.Helper()
	s, err := e.NewEncoder().String(text)
	require.NoError(t, err)
	return s
}

func wide(t testing.TB, text string) string {
	t.Helper()
	return encoded(t, unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM), text)
}

// pieces decodes pieces, each in a Write.
func pieces(t testing.TB, other encoding.Encoding, all ...string) string {
	t.Helper()
	var text strings.Builder
	d := charset.New(other)
	for _, p := range all {
		text.Write(d.Write([]byte(p)))
	}
	text.Write(d.End())
	return text.String()
}

func TestDecode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		codePage uint32
		printed  string
		want     string
	}{
		{"nothing", 850, "", ""},
		{"ASCII", 850, "a\r\nb\r\n", "a\r\nb\r\n"},
		{"UTF-8", 850, "Größe ✓ 日本\n", "Größe ✓ 日本\n"},
		{"UTF-8, not ended", 850, "Gr\xc3", "Gr├"},
		{"western Europe", 850, encoded(t, charset.CodePage(850), "Übergrößenträger: é è ñ\r\n"), "Übergrößenträger: é è ñ\r\n"},
		{"America", 437, encoded(t, charset.CodePage(437), "naïve ½\n"), "naïve ½\n"},
		{"Russian", 866, encoded(t, charset.CodePage(866), "Файл не найден\r\n"), "Файл не найден\r\n"},
		{"Japanese", 932, encoded(t, charset.CodePage(932), "指定されたファイルが見つかりません。ソ\r\n"), "指定されたファイルが見つかりません。ソ\r\n"},
		{"Chinese", 936, encoded(t, charset.CodePage(936), "系统找不到指定的文件。\r\n"), "系统找不到指定的文件。\r\n"},
		{"Chinese, traditional", 950, encoded(t, charset.CodePage(950), "系統找不到指定的檔案。\r\n"), "系統找不到指定的檔案。\r\n"},
		{"Korean", 949, encoded(t, charset.CodePage(949), "지정된 파일을 찾을 수 없습니다.\r\n"), "지정된 파일을 찾을 수 없습니다.\r\n"},
		{"Windows", 1252, encoded(t, charset.CodePage(1252), "smart “quotes” – €\n"), "smart “quotes” – €\n"},
		{"each line by itself", 850, "Größe\n" + encoded(t, charset.CodePage(850), "Größe\n") + "Größe\n", "Größe\nGröße\nGröße\n"},
		{"a line that is not UTF-8 any more", 850, "a: " + encoded(t, charset.CodePage(850), "ö") + " b", "a: ö b"},
		{"no code page", 65001, "a\xff\xfeb\n", "a\xff\xfeb\n"},
		{"a code page that nobody has", 737, "a\x80\n", "a\x80\n"},

		{"UTF-16", 850, wide(t, "Windows Subsystem for Linux\r\nÜber 日本 😀\r\n"), "Windows Subsystem for Linux\r\nÜber 日本 😀\r\n"},
		{"UTF-16 with a mark", 850, "\xff\xfe" + wide(t, "日本\r\nab"), "日本\r\nab"},
		{"UTF-16 without a code page", 65001, wide(t, "ab\r\n"), "ab\r\n"},
		{"UTF-16 after UTF-8", 850, "starts ✓\n" + wide(t, "- Über\r\n"), "starts ✓\n- Über\r\n"},
		{"UTF-8 after UTF-16", 850, wide(t, "ab\r\n日本\r\n") + "exit 0 ✓\n", "ab\r\n日本\r\nexit 0 ✓\n"},
		{"UTF-16 whose bytes are letters", 850, wide(t, "ab\n中中\nab\n"), "ab\n中中\nab\n"},
		{"an empty line of UTF-16", 850, wide(t, "ab\r\n\r\ncd\r\n"), "ab\r\n\r\ncd\r\n"},
		{"half of UTF-16", 850, wide(t, "ab") + "\x41", "ab\ufffd"},
		{"half of a pair", 850, wide(t, "ab") + "\x3d\xd8", "ab\ufffd"},
		{"a pair without its first half", 850, wide(t, "ab") + "\x00\xde" + wide(t, "c"), "ab\ufffdc"},
		{"one character of UTF-16", 850, "a\x00", "a\x00"},
		{"NULs between words", 850, "one\x00two\x00", "one\x00two\x00"},
		{"NUL after one letter", 850, "a\x00bc\x00d", "a\x00bc\x00d"},
		{"half of a mark", 850, "\xff", "\u00a0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			other := charset.CodePage(c.codePage)
			require.Equal(t, c.want, pieces(t, other, c.printed), "at once")
			// The same, cut in two wherever what follows is not needed to decide.
			for i := range c.printed {
				letters := c.name == "Chinese" || c.name == "UTF-16 whose bytes are letters" // of UTF-8 too
				if letters || i > 0 && c.printed[i] == 0 && (i == 1 || c.printed[i-2] == '\n') {
					continue // one character of ASCII is not held back
				}
				require.Equal(t, c.want, pieces(t, other, c.printed[:i], c.printed[i:]), "cut at %d", i)
			}
		})
	}
}

// What is UTF-8 stays as it is and is not copied.
func TestDecodeTakesNoCopy(t *testing.T) { //nolint:paralleltest // it counts allocations
	d := charset.New(charset.CodePage(850))
	p := []byte(strings.Repeat("plain ✓\n", 100))
	require.Same(t, &p[0], &d.Write(p)[0])
	require.Zero(t, testing.AllocsPerRun(100, func() { d.Write(p) }))
}

// A line that does not end is held back up to a limit.
func TestDecodeOfAnEndlessLine(t *testing.T) {
	t.Parallel()
	for _, printed := range []string{"\x94", wide(t, "ö")} {
		line := wide(t, "ab")[:4*(len(printed)-1)] + strings.Repeat(printed, 200<<10)
		d := charset.New(charset.CodePage(850))
		var text strings.Builder
		for len(line) > 0 {
			n := min(len(line), 1<<10+1)
			text.Write(d.Write([]byte(line[:n])))
			line = line[n:]
		}
		require.Greater(t, text.Len(), 100<<10)
		text.Write(d.End())
		require.Equal(t, strings.Repeat("ö", 200<<10), strings.TrimPrefix(text.String(), "ab"))
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte("a\x00b\x00\xff\xfe"), 2, uint32(932))
	f.Add([]byte("Gr\x94\xe1e\n"), 3, uint32(850))
	f.Fuzz(func(t *testing.T, printed []byte, cut int, codePage uint32) {
		other := charset.CodePage(codePage)
		text := pieces(t, other, string(printed))
		if other != nil && !utf8.ValidString(text) {
			t.Fatalf("%q became %q, which is not UTF-8", printed, text)
		}
		if other == nil && !bytes.Contains(printed, []byte{0}) && !bytes.Contains(printed, []byte("\xff\xfe")) && text != string(printed) {
			t.Fatalf("%q became %q", printed, text)
		}
		cut = max(0, min(cut, len(printed)))
		pieces(t, other, string(printed[:cut]), string(printed[cut:]))
	})
}
