package proctest

import (
	"fmt"
	"strings"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

var outputCases = []testCase{
	{"pages", "pages that are joined by From and Next do not overlap and lose no byte", outputPages},
	{"next lies between runes", "Next never lies within a rune: if the output ends in an incomplete rune, the next read returns it", outputRunes},
	{"a line redrawn", "Live is the end of Text that has no offset: texts without it, joined by From and Next, are the output", outputLive},
	{"from", "From is an offset in bytes: 0 is the beginning, and an offset beyond the end counts as the end", func(c *check, m *view) {
		const text = "0123456789"
		id := m.run("printf " + text).Process.ID
		for _, from := range []int64{0, 1, 7, 9, 10, 11, 1 << 40, 1<<63 - 1} {
			c.printed(m.read(id, procmgr.OutputRequest{From: from}), text[min(from, 10):], 10)
		}
		// The contract does not say what a negative From means.
		if out, err := m.tryRead(id, procmgr.OutputRequest{From: -5}); err == nil {
			c.text(out, text)
		} else {
			c.is(err, procmgr.ErrInvalid, "Output from -5 on")
		}
	}},
	{"bytes survive", "valid UTF-8 comes through byte for byte", func(c *check, m *view) {
		for format, text := range map[string]string{
			`a\000b`:                           "a\x00b",
			`\001\002\003\007\011\016\037\177`: "\x01\x02\x03\x07\t\x0e\x1f\x7f",
			`\342\200\250\342\200\251`:         "\u2028\u2029",
			`<a href="x">&amp;</a>`:            `<a href="x">&amp;</a>`,
			`"\134\057\134u0041"`:              `"\/\u0041"`,
			`\360\237\230\200\360\237\221\251\342\200\215\360\237\222\273`: "😀👩\u200d💻",
			`\357\273\277x\357\273\277`:                                    "\ufeffx\ufeff",
			`\357\277\276\357\277\277\364\217\277\277`:                     "\ufffe\uffff\U0010ffff",
			`\357\277\275`:  "\ufffd",
			`\n\n  \n\t\n `: "\n\n  \n\t\n ",
		} {
			c.printed(m.run("printf '"+format+"'"), text, len(text))
		}
	}},
	{"invalid bytes", "each invalid byte becomes U+FFFD, and Next counts the bytes that the command printed", func(c *check, m *view) {
		for _, tt := range []struct {
			format, text string
			bytes        int
		}{
			{`a\377b`, "a\ufffdb", 3},
			{`\200\376\377`, "\ufffd\ufffd\ufffd", 3},
			{`a\342\202b`, "a\ufffd\ufffdb", 4},       // an incomplete rune
			{`a\342\202`, "a\ufffd\ufffd", 3},         // the same at the end
			{`\355\240\200`, "\ufffd\ufffd\ufffd", 3}, // a surrogate
			{`\300\257`, "\ufffd\ufffd", 2},           // an overlong form
		} {
			c.printed(m.run("printf '"+tt.format+"'"), tt.text, tt.bytes)
		}
	}},
	{"reading consumes nothing", "reading consumes nothing: every reader sees all of the output", func(c *check, m *view) {
		const text = "first\nready\n"
		id := m.begin("echo first; echo ready; exec sleep 600")
		for range 3 {
			c.text(m.look(id), text)
		}
		together(4, func(int) {
			if out, err := m.tryRead(id, procmgr.OutputRequest{}); err != nil || out.Text != text {
				c.errorf("one of several readers at once sees %q, and the result is %s", out.Text, told(err))
			}
		})
		c.text(c.host.look(id), text)
	}},
	{"changes", "Against asks for the changes from the output of another process of the chat, once both have ended: Same, or the lines that were added and removed, counted and as hunks; or there are none, since the manager cannot tell", outputChanges},
	{"changes of another", "there are no Changes if Against is the ID of nobody, of a process that runs, or of one of another chat, nor if nobody asked for them", outputChangesNone},
	{"unknown process", "Output of an ID that was never used fails with ErrNotFound, however odd the ID is", func(c *check, m *view) {
		m.run("true")
		for _, req := range []procmgr.OutputRequest{{}, {Wait: c.long, Until: "x"}} {
			c.is(errOf(m.tryRead(c.id(), req)), procmgr.ErrNotFound, "Output of an ID that was never used")
		}
		for _, id := range []string{"", "list", "start", "a/b", "..", "a?from=1", "a%2fb", "#", "a b", "\x00", "ä", strings.Repeat("x", 65)} {
			if _, err := m.tryRead(id, procmgr.OutputRequest{}); !isOneOf(err, procmgr.ErrNotFound, procmgr.ErrInvalid) {
				c.errorf("Output of %q, which is no ID of a process, is neither ErrNotFound nor ErrInvalid, but %s", id, told(err))
			}
		}
	}},
}

func outputPages(c *check, m *view) {
	const pages, lines = 5, 400
	p := m.puppet()
	text, next, want := "", p.end, ""
	read := func() {
		for len(text) < len(want) {
			out := m.until(p.id, next, ".")
			c.fatalIf(out.Truncated != nil || out.Text == "" || out.Next != next+int64(len(out.Text)),
				"%d bytes have been read, more were printed, and the page from %d on is %s, Next %d, Truncated %+v", len(text), next, excerpt(out.Text), out.Next, out.Truncated)
			text, next = text+out.Text, out.Next
		}
	}
	for i := range pages {
		p.tell(fmt.Sprintf(`printf 'page %d \303\244'`, i))
		want += fmt.Sprintf("page %d ä", i)
		read()
	}
	// Now read while the lines are printed, at whatever moment.
	p.tell(fmt.Sprintf(`i=0; while [ $i -lt %d ]; do printf 'line %%d \303\244\342\202\254\n' $i; i=$((i+1)); done`, lines))
	for i := range lines {
		want += fmt.Sprintf("line %d ä€\n", i)
	}
	read()
	c.errorIf(text != want || next != p.end+int64(len(want)),
		"the joined pages are %s, Next %d bytes further, and %s was printed", excerpt(text), next-p.end, excerpt(want))
}

func outputLive(c *check, m *view) {
	p := m.puppet()
	var joined strings.Builder
	next := int64(0)
	read := func(until string) {
		out := m.until(p.id, next, until)
		text, ok := strings.CutSuffix(out.Text, out.Live)
		c.fatalIf(!ok, "Text is %s, and does not end with Live, which is %s", excerpt(out.Text), excerpt(out.Live))
		joined.WriteString(text)
		next = out.Next
	}
	read("ready")
	for _, state := range []string{"1 of 3", "2 of 3", "3 of 3"} {
		p.tell("printf '" + state + "\\r'")
		read(state)
	}
	p.tell("printf 'done\\n'; exit 0")
	m.ended(p.id)
	read("done")
	if out := m.look(p.id); joined.String() != out.Text || out.Live != "" {
		c.errorf("the output is %s with Live %q, and the texts without theirs are %s", excerpt(out.Text), out.Live, excerpt(joined.String()))
	}
}

func outputRunes(c *check, m *view) {
	p := m.puppet()
	is := func(out procmgr.Output, text string, further int64) {
		c.errorIf(out.Text != text || out.Next != p.end+further,
			"after a part of a rune or the rest of it, the output had to be %q with Next %d bytes further, and is %q, %d", text, further, out.Text, out.Next-p.end)
	}
	p.tell(`printf 'a\303'`)
	is(m.until(p.id, p.end, "a"), "a", 1)
	// At the time of the answer, the half has been printed too.
	p.tell("mkdir " + quote(p.in+".done"))
	c.eventually("that the puppet has printed half of a rune", func() bool {
		return m.run("test -d "+quote(p.in+".done")+" && echo done").Text != ""
	})
	is(m.read(p.id, procmgr.OutputRequest{From: p.end}), "a", 1)
	p.tell(`printf '\244z'`)
	is(m.until(p.id, p.end+1, "z"), "äz", 4)
}

func outputChanges(c *check, m *view) {
	const lines = `i=1; while [ $i -le 30 ]; do echo "line $i"; i=$((i+1)); done; `
	first := m.run(lines + "echo one; echo two").Process.ID
	for _, tt := range []struct {
		command string
		want    procmgr.Changes
	}{
		{"echo one; echo two", procmgr.Changes{Same: true, Lines: 32}},
		{"echo one; echo a; echo; echo bye", procmgr.Changes{Added: 3, Removed: 1, Lines: 34, Text: "@@ -30,3 +30,5 @@\n line 30\n one\n-two\n+a\n+\n+bye\n"}},
	} {
		second := m.run(lines + tt.command).Process.ID
		out := m.read(second, procmgr.OutputRequest{Against: first})
		if out.Changes == nil {
			return // the manager cannot tell
		}
		c.errorIf(*out.Changes != tt.want, "the changes are %+v, and not %+v", *out.Changes, tt.want)
	}
}

func outputChangesNone(c *check, m *view) {
	id, foreign, p := m.run("echo a").Process.ID, c.chat("b").run("echo a").Process.ID, m.puppet()
	for what, against := range map[string]string{
		"nobody": c.id(), "an odd ID": "a b/../" + strings.Repeat("x", 3000), "no text": "\xff", "a process that runs": p.id, "a process of another chat": foreign, "nothing": "",
	} {
		if out := m.read(id, procmgr.OutputRequest{Against: against}); out.Changes != nil {
			c.errorf("the output was compared with that of %s: %+v", what, *out.Changes)
		}
	}
	if out := m.read(p.id, procmgr.OutputRequest{Against: id}); out.Changes != nil {
		c.errorf("the process runs, and its output was compared: %+v", *out.Changes)
	}
}

var limitCases = []testCase{
	{"by default", "without a limit, a long output is cut once: Text has at most 32 KiB, with the beginning and the last bytes of the output, and Truncated counts the rest", limitDefault},
	{"as asked", "Text never has more bytes than Limit.Bytes, including the markers, and always has the last bytes of the output", func(c *check, m *view) {
		id := m.run("head -c 5000 /dev/zero | tr '\\0' x; echo; echo the end").Process.ID
		for _, limit := range []int{1, 4, 9, 50, 100, 1000, 4999} {
			out := m.read(id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: limit}})
			c.cut(out, limit, "", "the end\n", 5009)
			c.errorIf(out.Next != 5009, "5009 bytes were printed, and with a limit of %d Next is %d", limit, out.Next)
		}
	}},
	{"of Start", "the Limit of a StartRequest bounds only the Text that this Start returns", func(c *check, m *view) {
		out := m.runAs(procmgr.StartRequest{Command: "printf 0123456789", Limit: headtail.Limits{Bytes: 4}})
		c.cut(out, 4, "6789", "", 10)
		c.printed(m.look(out.Process.ID), "0123456789", int(out.Next))
	}},
	{"none", "a negative Limit.Bytes is no limit: all kept output comes back whole", limitNone},
	{"lines", "if the text exceeds Limit.Bytes, lines longer than Limit.Line are cut; if it fits, no line is cut", func(c *check, m *view) {
		const printed = 14 + 3001 + 8
		id := m.run("echo the beginning; head -c 3000 /dev/zero | tr '\\0' x; echo; echo the end").Process.ID
		out := m.read(id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 1000, Line: 200}})
		c.cut(out, 1000, "the beginning\nx", "x\nthe end\n", printed)
		if t := out.Truncated; t != nil && t.TruncatedLines != 1 || strings.Count(out.Text, "x") > 200 {
			c.errorf("a line of 3000 bytes had to be cut to 200, and no other one: %s, Truncated %+v", excerpt(out.Text), t)
		}
		fits := m.read(id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 10000, Line: 200}})
		c.printed(fits, "the beginning\n"+strings.Repeat("x", 3000)+"\nthe end\n", printed)
	}},
	{"from an offset", "Truncated counts the output from From on", limitFrom},
}

// cut fails if an output of so many bytes is not cut correctly: to a limit, with its
// first and last bytes as far as they fit, and with a Truncation that counts the rest and
// says where the markers stand.
func (c *check) cut(out procmgr.Output, limit int, first, last string, printed int64) {
	text, t := out.Text, out.Truncated
	last = last[max(0, len(last)-limit):]
	c.errorIf(len(text) > limit || !strings.HasPrefix(text, first) || !strings.HasSuffix(text, last),
		"Text had to have at most %d bytes, begin with %q and end with %q: %s", limit, first, last, excerpt(text))
	c.fatalIf(t == nil, "%d bytes were printed, Text has %d, and Truncated is nil", printed, len(text))
	if t.OriginalBytes != printed || t.RetainedBytes+t.OmittedBytes != printed || t.OmittedBytes <= 0 || t.RetainedBytes < 0 || t.RetainedBytes > int64(len(text)) || t.Strategy != "head_tail" {
		c.errorf("%d bytes were printed, Text has %d, and Truncated does not sum up, or is not head_tail: %+v", printed, len(text), *t)
	}
	omitted := int64(0)
	for _, cut := range t.Cuts {
		omitted += cut.To - cut.From
		if cut.At < 0 || cut.Len < 0 || cut.At+cut.Len > len(text) {
			c.errorf("a cut of Truncated is not within the %d bytes of Text: %+v", len(text), cut)
		} else if marker := fmt.Sprintf("[omitted %d bytes]", cut.To-cut.From); cut.Len > 0 && !strings.Contains(text[cut.At:cut.At+cut.Len], marker) {
			c.errorf("a cut of Truncated says that its marker is %q: %+v", text[cut.At:cut.At+cut.Len], cut)
		}
	}
	if omitted != t.OmittedBytes {
		c.errorf("%d bytes are omitted, and the cuts of Truncated have %d of them: %+v", t.OmittedBytes, omitted, *t)
	}
}

func limitDefault(c *check, m *view) {
	const lines = 20000
	first := m.run(fmt.Sprintf(`echo the beginning; i=0; while [ $i -lt %d ]; do echo line $i; i=$((i+1)); done; echo the end`, lines))
	printed := int64(len("the beginning\nthe end\n"))
	for i := range lines {
		printed += int64(len(fmt.Sprintf("line %d\n", i)))
	}
	for _, out := range []procmgr.Output{first, m.look(first.Process.ID)} {
		c.cut(out, headtail.DefaultTextLimit, "the beginning\nline 0\n", fmt.Sprintf("\nline %d\nthe end\n", lines-1), printed)
		c.errorIf(out.Next != printed, "%d bytes were printed, and Next is %d", printed, out.Next)
		if n := out.Truncated.OmittedBytes; strings.Count(out.Text, fmt.Sprintf("[omitted %d bytes]", n)) != 1 {
			c.errorf("%d bytes were omitted, and Text must have exactly one marker that says so", n)
		}
	}
}

func limitNone(c *check, m *view) {
	none := headtail.Limits{Bytes: -1, Line: -1}
	for _, n := range []int{10000, 28000} {
		out := m.runAs(procmgr.StartRequest{Command: fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", n), Limit: headtail.Limits{Bytes: -1}})
		c.printed(out, strings.Repeat("x", n), n)
		c.printed(m.read(out.Process.ID, procmgr.OutputRequest{Limit: none}), strings.Repeat("x", n), n)
	}
	// The middle of a longer output is not kept, unless the host has a log. Both
	// kept parts come back whole, and with their marker they are longer than the
	// default limit.
	id := m.run("head -c 100000 /dev/zero | tr '\\0' x").Process.ID
	byDefault, out := m.look(id), m.read(id, procmgr.OutputRequest{Limit: none})
	if out.Truncated == nil {
		c.text(out, strings.Repeat("x", 100000))
		return
	}
	c.cut(out, len(out.Text), "x", "x", 100000)
	c.errorIf(len(out.Text) < len(byDefault.Text),
		"with no limit Text has %d bytes, and with the default limit %d", len(out.Text), len(byDefault.Text))
}

func limitFrom(c *check, m *view) {
	id := m.run("i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done").Process.ID
	end := m.look(id).Next
	limit := headtail.Limits{Bytes: 100}
	for _, from := range []int64{1, 1000, end - 101} {
		c.cut(m.read(id, procmgr.OutputRequest{From: from, Limit: limit}), 100, "", "\nline 499\n", end-from)
	}
	if out := m.read(id, procmgr.OutputRequest{From: end - 100, Limit: limit}); len(out.Text) != 100 || out.Truncated != nil {
		c.errorf("the last 100 bytes fit in a limit of 100, and are %s, Truncated %+v", excerpt(out.Text), out.Truncated)
	}
	// If From lies in the middle, which is not kept, the bytes there count as
	// well.
	long := m.run("head -c 100000 /dev/zero | tr '\\0' x; echo the end").Process.ID
	for _, from := range []int64{20_000, 50_000} {
		c.cut(m.read(long, procmgr.OutputRequest{From: from}), headtail.DefaultTextLimit, "", "xxxthe end\n", 100_008-from)
	}
}
