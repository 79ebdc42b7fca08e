package proctest

import (
	"fmt"
	"strings"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

var limitCases = []testCase{
	{"by default", "without a limit, a long output is cut once: Text has at most 32 KiB, with the beginning and the last bytes of the output, and Truncated counts the rest", limitDefault},
	{"as asked", "Text never has more bytes than Limit.Bytes, including the markers, and always has the last bytes of the output", limitBytes},
	{"of Start", "the Limit of a StartRequest bounds only the Text that this Start returns", limitStart},
	{"none", "a negative Limit.Bytes is no limit: all kept output comes back whole", limitNone},
	{"lines", "if the text exceeds Limit.Bytes, lines longer than Limit.Line are cut; if it fits, no line is cut", limitLines},
	{"what fits is whole", "output that fits comes back byte for byte, with nothing inserted, and Truncated is nil", limitFits},
	{"from an offset", "Truncated counts the output from From on", limitFrom},
}

// sums fails if a Truncation does not count the output correctly.
func (c *check) sums(out procmgr.Output, printed int64) {
	c.Helper()
	t := out.Truncated
	switch {
	case t == nil:
		c.errorf("%d bytes were printed, Text has %d, and Truncated is nil", printed, len(out.Text))
	case t.OriginalBytes != printed || t.RetainedBytes+t.OmittedBytes != t.OriginalBytes || t.OmittedBytes <= 0 || t.RetainedBytes < 0:
		c.errorf("%d bytes were printed, and Truncated does not sum up: %+v", printed, *t)
	case t.RetainedBytes > int64(len(out.Text)):
		c.errorf("Text has %d bytes, and Truncated says that %d are retained", len(out.Text), t.RetainedBytes)
	case t.Strategy != "head_tail":
		c.errorf("the strategy of Truncated is %q, not \"head_tail\"", t.Strategy)
	default:
		c.cuts(out)
	}
}

// cuts fails if a Truncation does not tell what is missing, or where the markers
// stand.
func (c *check) cuts(out procmgr.Output) {
	c.Helper()
	omitted := int64(0)
	for _, cut := range out.Truncated.Cuts {
		omitted += cut.To - cut.From
		if cut.At < 0 || cut.Len < 0 || cut.At+cut.Len > len(out.Text) {
			c.errorf("a cut of Truncated is not within the %d bytes of Text: %+v", len(out.Text), cut)
		} else if marker := fmt.Sprintf("[omitted %d bytes]", cut.To-cut.From); cut.Len > 0 && !strings.Contains(out.Text[cut.At:cut.At+cut.Len], marker) {
			c.errorf("a cut of Truncated says that its marker is %q: %+v", out.Text[cut.At:cut.At+cut.Len], cut)
		}
	}
	if omitted != out.Truncated.OmittedBytes {
		c.errorf("%d bytes are omitted, and the cuts of Truncated have %d of them: %+v", out.Truncated.OmittedBytes, omitted, *out.Truncated)
	}
}

func limitDefault(c *check) {
	m := c.chat("a")
	const lines = 20000
	first := c.run(m, fmt.Sprintf(`echo the beginning; i=0; while [ $i -lt %d ]; do echo line $i; i=$((i+1)); done; echo the end`, lines))
	printed := int64(len("the beginning\nthe end\n"))
	for i := range lines {
		printed += int64(len(fmt.Sprintf("line %d\n", i)))
	}
	for _, out := range []procmgr.Output{first, c.look(m, first.Process.ID)} {
		if len(out.Text) > headtail.DefaultTextLimit {
			c.errorf("Text has %d bytes, the default limit is %d", len(out.Text), headtail.DefaultTextLimit)
		}
		if !strings.HasPrefix(out.Text, "the beginning\nline 0\n") {
			c.errorf("the beginning of the output is not in Text: %s", excerpt(out.Text))
		}
		if !strings.HasSuffix(out.Text, fmt.Sprintf("\nline %d\nthe end\n", lines-1)) {
			c.errorf("the last bytes of the output are not in Text: %s", excerpt(out.Text))
		}
		if out.Next != printed {
			c.errorf("%d bytes were printed, and Next is %d", printed, out.Next)
		}
		c.sums(out, printed)
		if t := out.Truncated; t != nil && strings.Count(out.Text, fmt.Sprintf("[omitted %d bytes]", t.OmittedBytes)) != 1 {
			c.errorf("%d bytes were omitted, and Text must have exactly one marker that says so", t.OmittedBytes)
		}
	}
}

func limitBytes(c *check) {
	m := c.chat("a")
	const n = 5000
	id := c.run(m, fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x; echo; echo the end", n)).Process.ID
	const printed = n + 1 + 8
	for _, limit := range []int{1, 4, 9, 50, 100, 1000, 4999} {
		out := c.read(m, id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: limit}})
		if len(out.Text) > limit {
			c.errorf("the limit is %d bytes, and Text has %d", limit, len(out.Text))
		}
		end := "the end\n"
		if end = end[max(0, len(end)-limit):]; !strings.HasSuffix(out.Text, end) {
			c.errorf("the limit is %d bytes, and Text does not end with %q: %s", limit, end, excerpt(out.Text))
		}
		if out.Next != printed {
			c.errorf("%d bytes were printed, and with a limit of %d Next is %d", printed, limit, out.Next)
		}
		c.sums(out, printed)
	}
}

func limitStart(c *check) {
	m := c.chat("a")
	out := c.runAs(m, procmgr.StartRequest{Command: "printf 0123456789", Limit: headtail.Limits{Bytes: 4}})
	c.text(out, "6789")
	c.sums(out, 10)
	if out.Next != 10 {
		c.errorf("10 bytes were printed, and Next is %d", out.Next)
	}
	c.text(c.look(m, out.Process.ID), "0123456789")
}

func limitNone(c *check) {
	m := c.chat("a")
	for _, n := range []int{10000, 28000} {
		out := c.runAs(m, procmgr.StartRequest{
			Command: fmt.Sprintf("head -c %d /dev/zero | tr '\\0' x", n),
			Limit:   headtail.Limits{Bytes: -1},
		})
		for _, out := range []procmgr.Output{out, c.read(m, out.Process.ID, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: -1, Line: -1}})} {
			c.text(out, strings.Repeat("x", n))
		}
	}
	// The middle of a longer output is not kept, unless the host has a log. Both
	// kept parts come back whole, and with their marker they are longer than the
	// default limit.
	id := c.run(m, "head -c 100000 /dev/zero | tr '\\0' x").Process.ID
	byDefault := c.look(m, id)
	none := c.read(m, id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: -1, Line: -1}})
	if none.Truncated == nil {
		c.text(none, strings.Repeat("x", 100000))
		return
	}
	c.sums(none, 100000)
	if len(none.Text) < len(byDefault.Text) {
		c.errorf("with no limit Text has %d bytes, and with the default limit %d", len(none.Text), len(byDefault.Text))
	}
}

func limitLines(c *check) {
	m := c.chat("a")
	id := c.run(m, "echo the beginning; head -c 3000 /dev/zero | tr '\\0' x; echo; echo the end").Process.ID
	const printed = 14 + 3001 + 8
	cut := c.read(m, id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 1000, Line: 200}})
	c.sums(cut, printed)
	if t := cut.Truncated; t != nil && t.TruncatedLines != 1 {
		c.errorf("the text had to be cut, a line of 3000 bytes is over the limit of 200, and TruncatedLines is %d", t.TruncatedLines)
	}
	if len(cut.Text) > 1000 || !strings.HasPrefix(cut.Text, "the beginning\nx") || !strings.HasSuffix(cut.Text, "x\nthe end\n") || strings.Count(cut.Text, "x") > 200 {
		c.errorf("the line had to be cut in its middle to 200 bytes, and the rest left whole: %d bytes, %s", len(cut.Text), excerpt(cut.Text))
	}
	fits := c.read(m, id, procmgr.OutputRequest{Limit: headtail.Limits{Bytes: 10000, Line: 200}})
	c.text(fits, "the beginning\n"+strings.Repeat("x", 3000)+"\nthe end\n")
	if fits.Truncated != nil {
		c.errorf("the text fits, and a line of it was cut: %+v", *fits.Truncated)
	}
}

func limitFits(c *check) {
	m := c.chat("a")
	const text = "0123456789\n"
	id := c.run(m, "echo 0123456789").Process.ID
	for _, limit := range []headtail.Limits{{}, {Bytes: len(text)}, {Bytes: len(text), Line: 1}, {Bytes: 1 << 30, Line: 1 << 30}} {
		out := c.read(m, id, procmgr.OutputRequest{Limit: limit})
		c.text(out, text)
		if out.Truncated != nil {
			c.errorf("%d bytes fit in the limit %+v, and Truncated is %+v", len(text), limit, *out.Truncated)
		}
	}
}

func limitFrom(c *check) {
	m := c.chat("a")
	id := c.run(m, "i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done").Process.ID
	end := c.look(m, id).Next
	for _, from := range []int64{1, 1000, end - 101} {
		out := c.read(m, id, procmgr.OutputRequest{From: from, Limit: headtail.Limits{Bytes: 100}})
		c.sums(out, end-from)
		if len(out.Text) > 100 || !strings.HasSuffix(out.Text, "\nline 499\n") {
			c.errorf("from %d on the text of at most 100 bytes is %s", from, excerpt(out.Text))
		}
	}
	// If From lies in the middle, which is not kept, the bytes there count as
	// well.
	long := c.run(m, "head -c 100000 /dev/zero | tr '\\0' x; echo the end").Process.ID
	for _, from := range []int64{20_000, 50_000} {
		out := c.read(m, long, procmgr.OutputRequest{From: from})
		c.sums(out, 100_008-from)
		if !strings.HasSuffix(out.Text, "xxxthe end\n") {
			c.errorf("from %d on the last bytes of the output are not in Text: %s", from, excerpt(out.Text))
		}
	}
	out := c.read(m, id, procmgr.OutputRequest{From: end - 100, Limit: headtail.Limits{Bytes: 100}})
	if len(out.Text) != 100 || out.Truncated != nil {
		c.errorf("the last 100 bytes fit in a limit of 100, and are %s, Truncated %+v", excerpt(out.Text), out.Truncated)
	}
}
