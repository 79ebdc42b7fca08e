package plaintext_test

import (
	"bytes"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail/plaintext"
)

type test struct{ name, in, want string }

var sequenceTests = []test{
	{"colour", "\x1b[1;31mred\x1b[0m\n", "red\n"},
	{"colour with colons", "\x1b[38:2::255:0:0mred\x1b[m\n", "red\n"},
	{"private modes", "\x1b[?25l\x1b[?1049hx\x1b[?1049l\x1b[?25h", "x"},
	{"intermediate bytes", "\x1b[2 q\x1b[!px", "x"},
	{"cursor addressing", "\x1b[H\x1b[2Ja\x1b[3;4Hb\x1b[1A\x1b[2Kc", "abc"},
	{"title, BEL", "\x1b]0;a title\atext", "text"},
	{"title, ST", "\x1b]0;a title\x1b\\text", "text"},
	{"link", "see \x1b]8;;https://example.com/\x1b\\the page\x1b]8;;\x1b\\.", "see the page."},
	{"runes in a title", "\x1b]2;é€😀\atext", "text"},
	{"invalid UTF-8 in a title", "\x1b]2;\xff\x9c\atext", "text"},
	{"DCS", "\x1bP1$r0m\x1b\\text", "text"},
	{"BEL does not end DCS", "\x1bPa\ab\x1b\\text", "text"},
	{"SOS, PM, APC", "\x1bXa\x1b\\1\x1b^b\x1b\\2\x1b_c\x1b\\3", "123"},
	{"through tmux", "\x1bPtmux;\x1b\x1b]52;c;eA==\a\x1b\\text", "text"},
	{"save, restore, reset", "\x1b7a\x1b8b\x1bcc\x1b=d\x1b>e\x1bMf", "abcdef"},
	{"character sets", "\x1b(Ba\x1b)0b\x1b%Gc\x1b#8d", "abcd"},
	{"the first and the last of each kind", "\x1b /0a\x1b /~b\x1b~c", "abc"},
	{"a bracket behind an intermediate byte", "\x1b([x", "x"},
	{"ESC and a newline", "\x1b\na", "\x1b\na"},
	{"ESC at the end", "a\x1b", "a\x1b"},
	{"ESC and what is no sequence", "\x1b\x00a\x1bé\x1b\x7fb", "\x1b\x00a\x1bé\x1b\x7fb"},
	{"sequence at the end", "a\x1b[3", "a\x1b[3"},
	{"newline in a sequence", "a\x1b[3\n1mb\n", "a\x1b[3\n1mb\n"},
	{"newline in a title", "\x1b]0;no end\nb\n", "\x1b]0;no end\nb\n"},
	{"CRLF in a title", "\x1b]0;no end\r\nb\r\n", "\x1b]0;no end\nb\n"},
	{"newline in DCS", "\x1bPno end\nb\n", "\x1bPno end\nb\n"},
	{"byte that fits no CSI", "\x1b[3é\x1b[\x07\x1b[4\x7f.", "\x1b[3é\x1b[\x07\x1b[4\x7f."},
	{"ESC ends CSI", "\x1b[3\x1b[31mred", "red"},
	{"ESC ends a title", "\x1b]0;title\x1b[31mred", "red"},
	{"ESC ends ESC", "\x1b\x1b\x1b[31mred", "red"},
	{"CAN and SUB end any", "\x1b\x18a\x1b[3\x1ab\x1b]0;\x18c\x1bP\x1ad\x1b(\x18e", "abcde"},
	{"CAN and SUB by themselves", "a\x18b\x1ac", "a\x18b\x1ac"},
	{"inner one leaves no outer one", "\x1b\x1b[0m[31mred", "[31mred"},
	{"inner one in CSI", "\x1b[\x1b[0m31mred", "31mred"},
	{"inner one in ESC alone, cancelled", "\x1b\x18[31mred", "[31mred"},
	{"8-bit controls are bytes", "\x9b31mé\x9d0;t\x9c", "\x9b31mé\x9d0;t\x9c"},
	{"continuation byte 0x9b", "\xe2\x80\x9bquoted", "\u201bquoted"},
	{"longest title", "\x1b]" + repeat("x", limit-3) + "\atext", "text"},
	{"longest title, ST", "\x1b]" + repeat("x", limit-3) + "\x1b\\text", "text"},
	{"too long a title", "\x1b]" + repeat("x", limit-2) + "\atext", "\x1b]" + repeat("x", limit-2) + "\atext"},
	{"too long, then a sequence", "\x1b]" + repeat("x", limit) + "\x1b[31mred", "\x1b]" + repeat("x", limit) + "red"},
	{"longest CSI", "\x1b[" + repeat("1", limit-3) + "mred", "red"},
	{"too long a CSI", "\x1b[" + repeat("1", limit-2) + "mred", "\x1b[" + repeat("1", limit-2) + "mred"},
	{"too long a character set", "\x1b" + repeat("(", limit-1) + "B", "\x1b" + repeat("(", limit-1) + "B"},
}

var lineTests = []test{
	{"CRLF", "a\r\nb\r\n\r\n", "a\nb\n\n"},
	{"CRCRLF", "a\r\r\nb\r\r\r\n", "a\nb\n"},
	{"CRLF behind spaces", "a  \r\n  \r\n", "a  \n  \n"},
	{"colour between CR and LF", "a\r\x1b[0m\n", "a\n"},
	{"two states", "a\rb\n", "a\nb\n"},
	{"three states", "a\rb\rc\n", "a\nc\n"},
	{"many states", "0%\r10%\r20%\r30%\r100%\r\n", "0%\n100%\n"},
	{"no newline at the end", "a\rb\rc", "a\nc"},
	{"CR at the end", "a\rb\r", "a\nb"},
	{"CR alone at the end", "a\r", "a"},
	{"nothing but CR", "\r", ""},
	{"nothing but CRs and a newline", "\r\r\r\n", "\n"},
	{"CR at the beginning", "\ra\n", "a\n"},
	{"CRs at the beginning", "\r\r\ra\rb\n", "a\nb\n"},
	{"erased by spaces", "10%\r100%\r    \rdone\n", "10%\ndone\n"},
	{"erased by a sequence", "10%\r100%\r\x1b[Kdone\n", "10%\ndone\n"},
	{"erased by backspaces", "10%\r100%\r\b\b\b\b\n", "10%\n100%\n"},
	{"erased, and nothing more", "10%\r50%\r100%\r      \r\n", "10%\n100%\n"},
	{"erased, nothing more, no newline", "10%\r100%\r\x1b[2K", "10%\n100%"},
	{"erased first", "    \rworking\rdone\n", "    working\ndone\n"},
	{"erased twice first", "\r    \r \rworking\rdone\n", "working\ndone\n"},
	{"blanks alone", "  \r \r    \n", "  \n"},
	{"the same again", "a\ra\n", "a\n"},
	{"the same at last", "a\rb\ra\n", "a\n"},
	{"the same but for spaces", "a\ra \n", "a\na \n"},
	{"shorter over longer", "100%\r5\n", "100%\n5\n"},
	{"each line by itself", "a\rb\rc\nd\re\rf\ng\n", "a\nc\nd\nf\ng\n"},
	{"colours in states", "\x1b[32m 0%\x1b[0m\r\x1b[32m50%\x1b[0m\r\x1b[32m100%\x1b[0m\n", " 0%\n100%\n"},
	{"to the first column by CSI G", "\x1b[1G|\x1b[0K\x1b[1G/\x1b[0G-\x1b[Gdone\n", "|\ndone\n"},
	{"to other columns", "a\x1b[2Gb\x1b[10Gc\x1b[0;1Ge\x1b[ Gf\n", "abcef\n"},
	{"text for a sequence", "a\r\x1b[3\rb\x1b\r\n", "a\nb\x1b\n"},
	{"text for a sequence joins nothing", "\x1b\r[31mred\r\x1b[\r1mx\n", "\x1b\n1mx\n"},
	{"longest state", "a\r" + repeat("x", limit) + "\rb\n", "a\nb\n"},
	{"too long a state", "a\r" + repeat("x", limit+1) + "\rb\n", "a\n" + repeat("x", limit+1) + "\nb\n"},
	{"too long a state behind another", "a\rb\r" + repeat("x", limit+1) + "y\rz\rc\n", "a\n" + repeat("x", limit+1) + "y\nc\n"},
	{"too long a state at the beginning", "\r" + repeat("x", limit+1) + "\rb\n", repeat("x", limit+1) + "\nb\n"},
	{"too long, and the same", repeat("x", limit+1) + "\r" + repeat("x", limit+1) + "\n", repeat("x", limit+1) + "\n" + repeat("x", limit+1) + "\n"},
	{"longest, and the same", repeat("x", limit) + "\r" + repeat("x", limit) + "\n", repeat("x", limit) + "\n"},
	{"long blanks", repeat(" ", limit) + "\ra\n", repeat(" ", limit) + "a\n"},
	{"too long blanks are no blanks", repeat(" ", limit+1) + "\ra\n", repeat(" ", limit+1) + "\na\n"},
	{"too long blanks behind a CR", "\r" + repeat("\x00", limit+1) + "\ra\n", repeat("\x00", limit+1) + "\na\n"},
	{"sequence that makes a state too long", "a\r" + repeat("x", limit) + "\x1b[3\n", "a\n" + repeat("x", limit) + "\x1b[3\n"},
}

var moveTests = []test{
	{"a backspace", "8\b9\n", "8\n9\n"},
	{"a counter", "1%\b\b12%\b\b\b100%\n", "1%\n100%\n"},
	{"a spinner", "working |\b/\b-\b\\\bdone\n", "working |\nworking done\n"},
	{"a spinner that ends as it began", "|\b/\b-\b|\n", "|\n"},
	{"a letter erased", "lss\b \b -l\n", "lss\nls -l\n"},
	{"back over a blank that stands there", "a b\b\b c\n", "a b\na c\n"},
	{"back, and no more", "abc\b\b\n", "abc\n"},
	{"back beyond the beginning", "ab\b\b\b\b\bx\n", "ab\nx\n"},
	{"at the beginning", "\b\bab\n\bcd\n", "ab\ncd\n"},
	{"struck twice", "N\bNA\bAM\bME\bE\n", "NAME\n"},
	{"struck twice in part", "abc\b\b\bab\nx\n", "abc\nx\n"},
	{"underlined", "_\bx\n", "_\nx\n"},
	{"runes", "日é\b\b本ê\n", "日é\n本ê\n"},
	{"runes that begin alike", "é\bê\n", "é\nê\n"},
	{"in a later state", "a\rbc\bd\n", "a\nbd\n"},
	{"erased in a later state", "10%\r100%\b\b\b\b    \n", "10%\n100%\n"},
	{"erased twice in a later state", "10%\r100%\b\b\b\b    \b\b\b\b\t\n", "10%\n100%\n"},
	{"erased", "100%\b\b\b\b    \n", "100%\n"},
	{"behind a sequence that is text", "\x1b[3é\b1m\x1b\b[31m", "\x1b[3é\b1m\x1b\b[31m"},
	{"in a title that is text", "\x1b]0;a\bb\n", "\x1b]0;a\bb\n"},
	{"colours between", "\x1b[1m8\x1b[0m\b\x1b[32m9\n", "8\n9\n"},
	{"longest, and back", repeat("x", limit) + "\b\n", repeat("x", limit) + "\n"},
	{"too long, and back", repeat("x", limit+1) + "\by\n", repeat("x", limit+1) + "\by\n"},
	{"a move to the right", "ab\x1b[5Ccd\x1b[Ce\x1b[0Cf\n", "ab     cd e f\n"},
	{"far to the right", "a\x1b[999Cb\n", "a" + repeat(" ", 80) + "b\n"},
	{"further than numbers go", "a\x1b[99999999999999999999Cb\n", "a" + repeat(" ", 80) + "b\n"},
	{"an indent", "\x1b[4Creturn\n", "    return\n"},
	{"a move to the left", "abc\x1b[2Dx\n", "abc\nax\n"},
	{"to the left, and back", "name: \x1b[999D\x1b[6Cx\n", "name: x\n"},
	{"to the left, and half of it back", "abcd\x1b[4D\x1b[2Cx\n", "abcd\nabx\n"},
	{"to the left, and further", "ab\x1b[D\x1b[3Cc\n", "ab  c\n"},
	{"back on the row above", "1\x1b[A\b2\n", "12\n"},
	{"back on another row", "1\x1b[2d\b2\x1b[B\b3\x1b[3;1H\x1b[2D4\r5\b6\n", "1234\n6\n"},
	{"other moves", "a\x1b[?5Cb\x1b[1;5Cc\x1b[5 Cd\x1b[>5De\n", "abcde\n"},
}

var textTests = []test{
	{"nothing", "", ""},
	{"prompt", "Password: ", "Password: "},
	{"other controls", "a\a\t\v\f\x00\x7fb", "a\a\t\v\f\x00\x7fb"},
	{"UTF-8", "é€😀\n", "é€😀\n"},
	{"Latin-1", "caf\xe9 \x9b \xff\n", "caf\xe9 \x9b \xff\n"},
	{"UTF-16LE", "h\x00i\x00\r\x00\n\x00\r\x00\n\x00!\x00", "h\x00i\x00\n\x00\n\x00!\x00"},
	{"UTF-16BE", "\x00h\x00i\x00\r\x00\n\x00\r\x00\n\x00!", "\x00h\x00i\x00\n\x00\n\x00!"},
	{"UTF-16LE, ESC", "\x1b\x00[\x000\x00m\x00", "\x1b\x00[\x000\x00m\x00"},
}

// limit is the limit that the package documents.
const limit = 4096

func repeat(s string, n int) string { return strings.Repeat(s, n) }

// clean returns the text of a stream that comes in parts.
func clean(t testing.TB, parts ...string) string {
	t.Helper()
	var out strings.Builder
	w := plaintext.NewWriter(&out)
	for _, part := range parts {
		p := []byte(part)
		n, err := w.Write(p)
		require.NoError(t, err)
		require.Equal(t, len(part), n)
		require.Equal(t, part, string(p), "what is written belongs to the caller")
		clear(p) // the Writer must not refer to it any more
	}
	text := out.String() + string(w.Pending())
	require.NoError(t, w.Flush())
	require.Equal(t, text, out.String(), "Pending is what Flush writes")
	require.Nil(t, w.Pending())
	return text
}

func TestWriter(t *testing.T) {
	for _, group := range []struct {
		name  string
		tests []test
	}{{"sequence", sequenceTests}, {"line", lineTests}, {"move", moveTests}, {"text", textTests}} {
		for _, tt := range group.tests {
			t.Run(group.name+"/"+tt.name, func(t *testing.T) {
				require.Equal(t, tt.want, clean(t, tt.in))
				checkText(t, tt.in)
			})
		}
	}
}

func TestPending(t *testing.T) {
	type step struct{ in, out, pending string }
	tests := []struct {
		name  string
		steps []step
	}{
		{"progress", []step{
			{"fetching", "fetching", ""},
			{"\r", "fetching", ""},
			{" 10%", "fetching", "\n 10%"},
			{"\r", "fetching", "\n 10%"},
			{" 20", "fetching", "\n 20"},
			{"%", "fetching", "\n 20%"},
			{"\r\x1b[K", "fetching", "\n 20%"},
			{"done", "fetching", "\ndone"},
			{"\n", "fetching\ndone\n", ""},
		}},
		{"prompt", []step{{"Password: ", "Password: ", ""}}},
		{"prompt behind a CR", []step{{"\r", "", ""}, {"  ", "", ""}, {"Password: ", "  Password: ", ""}}},
		{"prompt behind another line's end", []step{{"ok\r\n\x1b[KPassword: ", "ok\nPassword: ", ""}}},
		{"prompt over progress", []step{{"50%\r\x1b[KOverwrite? [y/N] ", "50%", "\nOverwrite? [y/N] "}}},
		{"redrawn prompt", []step{{"> ", "> ", ""}, {"\r> l", "> ", "\n> l"}, {"\r> ", "> ", ""}, {"\r> ls", "> ", "\n> ls"}}},
		{"sequence", []step{{"a\x1b", "a", "\x1b"}, {"[3", "a", "\x1b[3"}, {"1m", "a", ""}, {"b", "ab", ""}}},
		{"sequence in a state", []step{{"a\rb\x1b[", "a", "\nb\x1b["}, {"0m", "a", "\nb"}}},
		{"prompt in a title without an end", []step{{"\x1b]0;Password: ", "", "\x1b]0;Password: "}}},
		{"too long a state", []step{
			{"a\r" + repeat("x", limit), "a", "\n" + repeat("x", limit)},
			{"x", "a\n" + repeat("x", limit+1), ""},
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			w := plaintext.NewWriter(&out)
			require.Nil(t, w.Pending())
			for _, s := range tt.steps {
				_, err := w.Write([]byte(s.in))
				require.NoError(t, err)
				require.Equal(t, s.out, out.String(), "after %q", s.in)
				pending := w.Pending()
				require.Equal(t, s.pending, string(pending), "after %q", s.in)
				clear(pending) // it must be a copy
				require.Equal(t, s.pending, string(w.Pending()))
			}
		})
	}
}

func TestFlushBeginsAnotherStream(t *testing.T) {
	var out strings.Builder
	w := plaintext.NewWriter(&out)
	for _, part := range []string{"a\rb", "c\x1b[3", "1m\r", "1m\n"} {
		_, err := w.Write([]byte(part))
		require.NoError(t, err)
		require.NoError(t, w.Flush())
		require.NoError(t, w.Flush(), "nothing is left")
	}
	require.Equal(t, "a\nbc\x1b[31m1m\n", out.String())
}

// A failing writer takes a number of writes, and then fails.
type failing struct {
	writes int
	err    error // nil: the failing write is too short
}

func (f *failing) Write(p []byte) (int, error) {
	if f.writes--; f.writes < 0 {
		return len(p) / 2, f.err
	}
	return len(p), nil
}

func TestErrorsStay(t *testing.T) {
	broken := errors.New("broken")
	for _, tt := range []struct {
		name, in  string
		err, want error
	}{
		{"through", "plain", broken, broken},
		{"gathered", "a\x1b[0mb\n", broken, broken},
		{"large parts", repeat("x", 1<<16) + "\x1b[0m" + repeat("x", 1<<16), broken, broken},
		{"short", "plain", nil, io.ErrShortWrite},
		{"short, gathered", "a\x1b[0mb\n", nil, io.ErrShortWrite},
	} {
		t.Run(tt.name, func(t *testing.T) {
			under := &failing{writes: 1, err: tt.err}
			w := plaintext.NewWriter(under)
			_, err := w.Write([]byte("taken\n"))
			require.NoError(t, err)
			n, err := w.Write([]byte(tt.in))
			require.Zero(t, n)
			require.ErrorIs(t, err, tt.want)
			under.writes = 100
			n, err = w.Write([]byte("more\r"))
			require.Zero(t, n)
			require.ErrorIs(t, err, tt.want)
			require.ErrorIs(t, w.Flush(), tt.want)
			require.Equal(t, 100, under.writes, "nothing more is written")
		})
	}
	t.Run("flush", func(t *testing.T) {
		w := plaintext.NewWriter(&failing{err: broken})
		_, err := w.Write([]byte("\x1b["))
		require.NoError(t, err)
		require.ErrorIs(t, w.Flush(), broken)
		require.ErrorIs(t, w.Flush(), broken)
	})
}

// A counting writer records whether it was given the caller's own bytes.
type counting struct {
	writes, bytes int
	last          []byte
}

func (c *counting) Write(p []byte) (int, error) {
	c.writes++
	c.bytes += len(p)
	c.last = p
	return len(p), nil
}

func TestWritesAreFewAndLarge(t *testing.T) {
	plain := bytes.Repeat([]byte("a line of output\n"), 4096)
	c := &counting{}
	w := plaintext.NewWriter(c)
	_, err := w.Write(plain)
	require.NoError(t, err)
	require.Equal(t, 1, c.writes)
	require.Same(t, &plain[0], &c.last[0], "no copy")

	for _, dense := range []string{"\x1b[32mok\x1b[0m  \x1b[1mTestName\x1b[0m\r\n", "\x1b[0m\n", "a\rb\r\n"} {
		*c = counting{}
		p := bytes.Repeat([]byte(dense), (64<<10)/len(dense))
		_, err = w.Write(p)
		require.NoError(t, err)
		require.LessOrEqual(t, c.writes, c.bytes/2048+1, "%q", dense)
	}
	*c = counting{}
	_, err = w.Write(nil)
	require.NoError(t, err)
	require.Zero(t, c.writes)
}

func TestWriteDoesNotAllocate(t *testing.T) {
	for _, line := range []string{
		"plain\n", "plain", "\x1b[31mred\x1b[0m\n", "windows\r\n", "10%\r20%\r30%\r\n", "\r10%", "\x1b]0;title\atext\n",
		"\x1b", "\x1b[3", "\x1b]0;", "\r",
	} {
		w := plaintext.NewWriter(io.Discard)
		p := []byte(line)
		for range 3 * limit {
			_, _ = w.Write(p)
		}
		// Less than one, because the garbage collector may take the borrowed
		// buffer.
		require.Less(t, testing.AllocsPerRun(1000, func() { _, _ = w.Write(p) }), 0.5, "%q", line)
	}
}

// A sequence or line that never ends is written, and not kept.
func TestMemoryIsBounded(t *testing.T) {
	const total, most = 32 << 20, 512 << 10
	for _, tt := range []struct{ name, begin, repeat string }{
		{"OSC", "\x1b]", "x"},
		{"OSCs", "", "\x1b]xxxx"},
		{"DCS", "\x1bP", "x\a"},
		{"CSI", "\x1b[", "1;"},
		{"intermediate bytes", "\x1b", "("},
		{"ESC", "", "\x1b"},
		{"one line", "", "x"},
		{"blanks", "", "\x00"},
		{"one state", "a\r", "x"},
		{"blank states", "a\r", " "},
		{"blanks behind a CR", "\r", " "},
		{"states", "", "progress\r"},
		{"long states", "", "\r" + repeat("x", limit)},
		{"longer states", "", "\r" + repeat("x", limit+1)},
		{"states of sequences", "", "\r\x1b]" + repeat("x", limit-3)},
		{"CRs", "", "\r"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := &counting{}
			w := plaintext.NewWriter(c)
			p := []byte(repeat(tt.repeat, (1<<20)/len(tt.repeat)))
			_, err := w.Write([]byte(tt.begin))
			require.NoError(t, err)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			for n := 0; n < total; n += len(p) {
				_, err := w.Write(p)
				require.NoError(t, err)
			}
			runtime.ReadMemStats(&after)
			// TotalAlloc counts every byte ever allocated, so it is an upper
			// bound of the bytes kept. Part of it is pooled buffers, some of
			// them dropped at random by the race detector.
			require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(most))
			require.LessOrEqual(t, len(w.Pending()), 2*limit+1)
			require.NoError(t, w.Flush())
		})
	}
}
