package proctest

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

var outputCases = []testCase{
	{"pages", "pages that are joined by From and Next do not overlap and lose no byte", outputPages},
	{"next lies between runes", "Next never lies within a rune: if the output ends in an incomplete rune, the next read returns it", outputRunes},
	{"a line redrawn", "LiveBytes counts the last bytes of Text that have no offset: texts without them, joined by From and Next, are the output", outputLive},
	{"from", "From is an offset in bytes: 0 is the beginning, and an offset beyond the end counts as the end", outputFrom},
	{"bytes survive", "valid UTF-8 comes through byte for byte", outputBytes},
	{"invalid bytes", "each invalid byte becomes U+FFFD, and Next counts the bytes that the command printed", outputInvalid},
	{"reading consumes nothing", "reading consumes nothing: every reader sees all of the output", outputConsumes},
	{"after the exit", "the output of an exited process stays, and no output follows it", outputStays},
	{"while it runs", "Output without a wait returns at once, with all output so far", outputNow},
	{"nothing printed", "if a command prints nothing, its output is empty and nothing is missing", outputEmpty},
	{"highlights", "Highlight asks for lines that tell of trouble in what Text leaves out, the first of each kind with the number of the others, the gravest first; Text is the same without. A host without a log has none", outputHighlights},
	{"changes", "Against asks for the changes from the output of another process of the chat, once both have ended: Same, or the lines that were added and removed, counted and as hunks; or there are none, since the manager cannot tell", outputChanges},
	{"changes of another", "there are no Changes if Against is the ID of nobody, of a process that runs, or of one of another chat, nor if nobody asked for them", outputChangesNone},
	{"unknown process", "Output of an ID that was never used fails with ErrNotFound, however odd the ID is", outputUnknown},
}

func outputPages(c *check) {
	const pages, lines = 5, 400
	m := c.chat("a")
	p := c.puppet(m)
	text, next := "", p.end
	// page reads one page, and fails if it has nothing new.
	page := func() {
		c.Helper()
		out := c.read(m, p.id, procmgr.OutputRequest{From: next, Until: ".", Wait: c.long})
		if out.Truncated != nil {
			c.fatalf("a page leaves out some of the output, although there is little: %+v", *out.Truncated)
		}
		if !out.Matched || out.Text == "" {
			c.fatalf("%d bytes have been read, and the next page from %d on has nothing new: %s", len(text), next, excerpt(out.Text))
		}
		if out.Next != next+int64(len(out.Text)) {
			c.fatalf("a page of %d bytes was read from %d on, and Next is %d", len(out.Text), next, out.Next)
		}
		text, next = text+out.Text, out.Next
	}
	want := ""
	for i := range pages {
		p.tell(fmt.Sprintf(`printf 'page %d \303\244'`, i))
		want += fmt.Sprintf("page %d ä", i)
		for len(text) < len(want) {
			page()
		}
	}
	// Now read while the lines are printed, at whatever moment.
	p.tell(fmt.Sprintf(`i=0; while [ $i -lt %d ]; do printf 'line %%d \303\244\342\202\254\n' $i; i=$((i+1)); done`, lines))
	for i := range lines {
		want += fmt.Sprintf("line %d ä€\n", i)
	}
	for len(text) < len(want) {
		page()
	}
	if text != want {
		at := 0
		for at < len(want) && text[at] == want[at] {
			at++
		}
		c.errorf("the joined pages have %d bytes and not %d; they differ from byte %d on: %s", len(text), len(want), at, excerpt(text[at:]))
	}
	if next != p.end+int64(len(want)) {
		c.errorf("%d bytes were printed, and Next is %d bytes further", len(want), next-p.end)
	}
}

func outputLive(c *check) {
	m := c.chat("a")
	p := c.puppet(m)
	var joined strings.Builder
	next := int64(0)
	read := func(until string) procmgr.Output {
		out := c.read(m, p.id, procmgr.OutputRequest{From: next, Until: until, Wait: c.long})
		if out.LiveBytes < 0 || out.LiveBytes > len(out.Text) {
			c.fatalf("Text has %d bytes, and LiveBytes is %d", len(out.Text), out.LiveBytes)
		}
		joined.WriteString(out.Text[:len(out.Text)-out.LiveBytes])
		next = out.Next
		return out
	}
	read("ready")
	for _, state := range []string{"1 of 3", "2 of 3", "3 of 3"} {
		p.tell("printf '" + state + "\\r'")
		if out := read(state); !out.Matched {
			c.errorf("a line was drawn as %q, and it is not seen", state)
		}
	}
	p.tell("printf 'done\\n'; exit 0")
	c.ended(m, p.id)
	read("")
	if out := c.look(m, p.id); joined.String() != out.Text || out.LiveBytes != 0 {
		c.errorf("the output is %s with LiveBytes %d, and the texts without theirs are %s", excerpt(out.Text), out.LiveBytes, excerpt(joined.String()))
	}
}

func outputRunes(c *check) {
	m := c.chat("a")
	p := c.puppet(m)
	p.tell(`printf 'a\303'`)
	out := c.read(m, p.id, procmgr.OutputRequest{From: p.end, Until: "a", Wait: c.long})
	if out.Text != "a" || out.Next != p.end+1 {
		c.errorf("\"a\" and half of a rune were printed, and the output is %q, Next %d bytes further", out.Text, out.Next-p.end)
	}
	// At the time of the answer, the half has been printed too.
	p.tell("mkdir " + quote(p.in+".done"))
	c.eventually("that the puppet has printed half of a rune", func() bool {
		return c.run(m, "test -d "+quote(p.in+".done")+" && echo done").Text != ""
	})
	out = c.look(m, p.id)
	if next := out.Next - p.end; next != 1 || strings.ContainsRune(out.Text, utf8.RuneError) {
		c.errorf("half of a rune was printed, and Next lies %d bytes after the last whole rune, output %q", next-1, out.Text)
	}
	p.tell(`printf '\244z'`)
	out = c.read(m, p.id, procmgr.OutputRequest{From: p.end + 1, Until: "z", Wait: c.long})
	if out.Text != "äz" || out.Next != p.end+4 {
		c.errorf("the rune has been printed whole, and its page is %q, Next %d bytes further", out.Text, out.Next-p.end)
	}
}

func outputFrom(c *check) {
	m := c.chat("a")
	id := c.run(m, "printf 0123456789").Process.ID
	for _, tt := range []struct {
		from int64
		text string
	}{{0, "0123456789"}, {1, "123456789"}, {7, "789"}, {9, "9"}, {10, ""}, {11, ""}, {1 << 40, ""}, {1<<63 - 1, ""}} {
		out := c.read(m, id, procmgr.OutputRequest{From: tt.from})
		if out.Text != tt.text || out.Next != 10 || out.Truncated != nil {
			c.errorf("10 bytes were printed, and from %d on they are %q, Next %d, Truncated %+v", tt.from, out.Text, out.Next, out.Truncated)
		}
	}
	// The contract does not say what a negative From means.
	if out, err := c.tryRead(m, id, procmgr.OutputRequest{From: -5}); err == nil {
		c.text(out, "0123456789")
	} else {
		c.is(err, procmgr.ErrInvalid, "Output from -5 on")
	}
}

func outputBytes(c *check) {
	m := c.chat("a")
	for _, tt := range []struct{ what, printf, text string }{
		{"NUL", `a\000b`, "a\x00b"},
		{"control characters", `\001\002\003\007\011\016\037\177`, "\x01\x02\x03\x07\t\x0e\x1f\x7f"},
		{"line and paragraph separators", `\342\200\250\342\200\251`, "\u2028\u2029"},
		{"characters that HTML escapes", `<a href="x">&amp;</a>`, `<a href="x">&amp;</a>`},
		{"characters that JSON escapes", `"\134\057\134u0041"`, `"\/\u0041"`},
		{"emoji", `\360\237\230\200\360\237\221\251\342\200\215\360\237\222\273`, "😀👩\u200d💻"},
		{"a byte order mark", `\357\273\277x\357\273\277`, "\ufeffx\ufeff"},
		{"noncharacters", `\357\277\276\357\277\277\364\217\277\277`, "\ufffe\uffff\U0010ffff"},
		{"U+FFFD itself", `\357\277\275`, "\ufffd"},
		{"blanks and empty lines", `\n\n  \n\t\n `, "\n\n  \n\t\n "},
	} {
		out := c.run(m, "printf '"+tt.printf+"'")
		if out.Text != tt.text {
			c.errorf("%s: %q was printed, and the output is %q", tt.what, tt.text, out.Text)
		}
		if out.Next != int64(len(tt.text)) {
			c.errorf("%s: %d bytes were printed, and Next is %d", tt.what, len(tt.text), out.Next)
		}
	}
}

func outputInvalid(c *check) {
	m := c.chat("a")
	for _, tt := range []struct {
		what, printf, text string
		next               int64
	}{
		{"a byte that begins nothing", `a\377b`, "a\ufffdb", 3},
		{"several", `\200\376\377`, "\ufffd\ufffd\ufffd", 3},
		{"an incomplete rune within", `a\342\202b`, "a\ufffd\ufffdb", 4},
		{"an incomplete rune at the end", `a\342\202`, "a\ufffd\ufffd", 3},
		{"a surrogate", `\355\240\200`, "\ufffd\ufffd\ufffd", 3},
		{"an overlong form", `\300\257`, "\ufffd\ufffd", 2},
	} {
		out := c.run(m, "printf '"+tt.printf+"'")
		if out.Text != tt.text {
			c.errorf("%s: '%s' was printed, and the output is %q, not %q", tt.what, tt.printf, out.Text, tt.text)
		}
		if out.Next != tt.next {
			c.errorf("%s: %d bytes were printed, and Next is %d", tt.what, tt.next, out.Next)
		}
	}
}

func outputConsumes(c *check) {
	m := c.chat("a")
	id := c.begin(m, "echo first; echo ready; exec sleep 600").Process.ID
	for range 3 {
		c.text(c.look(m, id), "first\nready\n")
	}
	texts := make([]string, 4)
	errs := make([]error, len(texts))
	together(len(texts), func(i int) {
		out, err := c.tryRead(m, id, procmgr.OutputRequest{})
		texts[i], errs[i] = out.Text, err
	})
	for i := range texts {
		if errs[i] != nil || texts[i] != "first\nready\n" {
			c.errorf("one of several readers at once sees %q, error %v", texts[i], errs[i])
		}
	}
	c.text(c.read(c.host, id, procmgr.OutputRequest{}), "first\nready\n")
}

func outputStays(c *check) {
	m := c.chat("a")
	first := c.run(m, "echo kept; exit 3")
	c.run(m, "echo another")
	for range 2 {
		out := c.look(m, first.Process.ID)
		c.text(out, "kept\n")
		c.exit(out.Process, 3, "", procmgr.CauseExit)
		after := c.read(m, first.Process.ID, procmgr.OutputRequest{From: out.Next})
		if after.Text != "" || after.Next != out.Next {
			c.errorf("a process has exited, and after the end of its output at %d comes %q, Next %d", out.Next, after.Text, after.Next)
		}
	}
}

func outputNow(c *check) {
	m := c.chat("a")
	p := c.puppet(m)
	for i := range 3 {
		p.tell(fmt.Sprintf("echo line %d", i))
		out := c.read(m, p.id, procmgr.OutputRequest{From: p.end, Until: fmt.Sprintf("^line %d$", i), Wait: c.long})
		now := c.read(m, p.id, procmgr.OutputRequest{From: p.end})
		if now.Text != out.Text || now.Next != out.Next || now.Process.State != procmgr.Running {
			c.errorf("%q was printed so far, and Output says %q, state %q", out.Text, now.Text, now.Process.State)
		}
		if want := fmt.Sprintf("line %d\n", i); !strings.HasSuffix(now.Text, want) {
			c.errorf("the last line is %q, and the output is %q", want, now.Text)
		}
	}
}

func outputEmpty(c *check) {
	m := c.chat("a")
	id := c.run(m, "true").Process.ID
	for _, limit := range []headtail.Limits{{}, {Bytes: 1}, {Bytes: -1, Line: -1}} {
		out := c.read(m, id, procmgr.OutputRequest{Limit: limit})
		if out.Text != "" || out.Next != 0 || out.Truncated != nil || out.Matched {
			c.errorf("nothing was printed, and the output is %q, Next %d, Truncated %+v, Matched %v", out.Text, out.Next, out.Truncated, out.Matched)
		}
	}
}

func outputHighlights(c *check) {
	const lines = 200
	m := c.chat("a")
	filler := fmt.Sprintf(`i=0; while [ $i -lt %d ]; do echo "all is well here"; i=$((i+1)); done; `, lines)
	out := c.run(m, filler+`echo "it works without an error"; echo; echo "error 1: it broke"; echo "  at its edge"; echo; echo "error 22: it broke"; `+filler)
	id, logged := out.Process.ID, out.Process.LogPath != "" && out.Process.LogError == ""
	limit := headtail.Limits{Bytes: 300}
	without := c.read(m, id, procmgr.OutputRequest{Limit: limit})
	if len(without.Highlights) > 0 {
		c.errorf("no highlights were asked for, and there are %d", len(without.Highlights))
	}
	with := c.read(m, id, procmgr.OutputRequest{Limit: limit, Highlight: 1000})
	for range 20 {
		if with.Unscanned == 0 && !slices.ContainsFunc(with.Highlights, func(h procmgr.Highlight) bool { return h.Line == 0 }) {
			break
		}
		with = c.read(m, id, procmgr.OutputRequest{Limit: limit, Highlight: 1000}) // a busy machine has too little time
	}
	if with.Text != without.Text || with.Next != without.Next {
		c.errorf("with highlights the output is %s, and without %s", excerpt(with.Text), excerpt(without.Text))
	}
	var want []procmgr.Highlight
	if logged {
		fine, before := "it works without an error", int64(lines*len("all is well here\n"))
		want = []procmgr.Highlight{
			{Line: lines + 3, Offset: before + int64(len(fine)+2), Text: "error 1: it broke\n  at its edge", Count: 1},
			{Line: lines + 1, Offset: before, Text: fine},
		}
	}
	if !slices.Equal(with.Highlights, want) || with.Unscanned != 0 {
		c.errorf("the highlights are %+v, %d bytes not searched, and not %+v", with.Highlights, with.Unscanned, want)
	}
	if whole := c.read(m, id, procmgr.OutputRequest{Highlight: 1000}); whole.Truncated == nil && len(whole.Highlights) > 0 {
		c.errorf("Text leaves out nothing, and there are %d highlights", len(whole.Highlights))
	}
	if short := c.read(m, id, procmgr.OutputRequest{Limit: limit, Highlight: 5}); len(short.Highlights) > 0 {
		c.errorf("5 bytes of highlights were asked for, and they are %+v", short.Highlights)
	}
}

func outputUnknown(c *check) {
	m := c.chat("a")
	c.run(m, "true")
	_, err := c.tryRead(m, c.id(), procmgr.OutputRequest{})
	c.is(err, procmgr.ErrNotFound, "Output of an ID that was never used")
	_, err = c.tryRead(m, c.id(), procmgr.OutputRequest{Wait: c.long, Until: "x"})
	c.is(err, procmgr.ErrNotFound, "Output of an ID that was never used")
	for _, id := range []string{"", "list", "start", "a/b", "..", "a?from=1", "a%2fb", "#", "a b", "\x00", "ä", strings.Repeat("x", 65)} {
		out, err := c.tryRead(m, id, procmgr.OutputRequest{})
		if err == nil {
			c.errorf("Output of %q, which is no ID of a process, succeeded: %+v", id, out.Process)
			continue
		}
		if !isOneOf(err, procmgr.ErrNotFound, procmgr.ErrInvalid) {
			c.errorf("Output of %q, which is no ID of a process, is neither ErrNotFound nor ErrInvalid, but %v", id, err)
		}
	}
}
