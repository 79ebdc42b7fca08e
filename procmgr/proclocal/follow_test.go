package proclocal_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// quick is for tests that do not look at the pace of the chunks.
const quick = -1

// fits checks a chunk that comes after an offset, and returns its Next.
func fits(t testing.TB, chunk procmgr.Chunk, at int64, limit int) int64 {
	t.Helper()
	if limit == 0 {
		limit = 16 << 10
	}
	limit = max(limit, 256)
	require.Equal(t, at+chunk.Gap, chunk.From, "%+v", chunk)
	require.GreaterOrEqual(t, chunk.Gap, int64(0))
	require.GreaterOrEqual(t, chunk.Next, chunk.From)
	require.LessOrEqual(t, len(chunk.Text)+len(chunk.Live), limit)
	return chunk.Next
}

// The line that is being redrawn is Live, and each chunk replaces it.
func TestFollowLive(t *testing.T) {
	needs(t, "FIFOs")
	l := newLocal(t, nil)
	fifo := filepath.Join(t.TempDir(), "in")
	id := begin(t, l, "mkfifo "+fifo+"; echo ready; cat "+fifo).Process.ID
	in, err := os.OpenFile(fifo, os.O_WRONLY, 0)
	require.NoError(t, err)
	defer in.Close()
	says := []string{"10%\r", "20%\r", "30%\r", "done\nPassword: \r"}
	var got []string
	for chunk, err := range procmgr.Follow(t.Context(), l, id, nil) {
		require.NoError(t, err)
		got = append(got, fmt.Sprintf("%q %q", chunk.Text, chunk.Live))
		if len(says) == 0 {
			break
		}
		_, err = in.WriteString(says[0])
		require.NoError(t, err)
		says = says[1:]
	}
	require.Equal(t, []string{`"ready\n" ""`, `"10%" ""`, `"" "\n20%"`, `"" "\n30%"`, `"\ndone\nPassword: " ""`}, got)
}

// What the log has is not skipped, even if the window has dropped it.
func TestFollowLog(t *testing.T) {
	l := newLocal(t, &proclocal.Options{LogDir: t.TempDir(), Head: 100, Tail: 100})
	id := run(t, l, "seq 2000").Process.ID
	for _, limit := range []int{100, 1000, 0} {
		at, text := int64(0), ""
		for chunk, err := range procmgr.Follow(t.Context(), l, id, &procmgr.FollowOptions{Every: quick, Limit: limit}) {
			require.NoError(t, err)
			at, text = fits(t, chunk, at, limit), text+chunk.Text
		}
		require.Equal(t, numbers(2000), text, "limit %d", limit)
	}
}

// Of a process whose record has gone, the number of its bytes is known.
func TestFollowTombstone(t *testing.T) {
	l := newLocal(t, &proclocal.Options{Retain: time.Nanosecond})
	id := run(t, l, "echo gone").Process.ID
	eventually(t, "the record has gone", func() bool { return len(list(t, l)) == 0 })
	gap := int64(0)
	for chunk, err := range procmgr.Follow(t.Context(), l, id, nil) {
		require.NoError(t, err)
		gap += chunk.Gap
	}
	require.EqualValues(t, 5, gap)
}

// A printer is a Manager with one process, which prints a piece at each call.
type printer struct {
	procmgr.Manager
	buf    *headtail.Buffer
	pieces [][]byte
}

func (p *printer) Output(_ context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	state := procmgr.Running
	for again := true; again; again = req.Wait > 0 && state == procmgr.Running && p.buf.Snapshot(0).Total <= req.From {
		if len(p.pieces) > 0 {
			_, _ = p.buf.Write(p.pieces[0])
			p.pieces = p.pieces[1:]
		} else {
			_ = p.buf.Close()
			state = procmgr.Exited
		}
	}
	snap := p.buf.Snapshot(req.From)
	out := procmgr.Output{Process: procmgr.Process{ID: id, State: state}, Next: snap.Total}
	out.Text, out.Truncated = snap.Text(req.Limit)
	return out, nil
}

// asText is what a text shows of bytes.
func asText(b []byte) string { return strings.Map(func(r rune) rune { return r }, string(b)) }

// checkFollow follows a stream with known content.
func checkFollow(t *testing.T, data []byte, head, tail, limit, piece int) {
	p := &printer{buf: headtail.New(head, tail)}
	for rest := data; len(rest) > 0; {
		n := min(piece, len(rest))
		p.pieces, rest = append(p.pieces, rest[:n]), rest[n:]
	}
	var at, shown int64
	for chunk, err := range procmgr.Follow(t.Context(), p, "p", &procmgr.FollowOptions{Every: quick, Limit: limit}) {
		require.NoError(t, err)
		at = fits(t, chunk, at, limit)
		require.LessOrEqual(t, at, int64(len(data)))
		require.Equal(t, asText(data[chunk.From:chunk.Next]), chunk.Text, "%d-%d", chunk.From, chunk.Next)
		shown += chunk.Next - chunk.From
	}
	require.Equal(t, int64(len(data)), at)
	require.GreaterOrEqual(t, shown, min(int64(len(data)), int64(tail-6)), "the end of the window was skipped")
}

// Each byte is shown as it is or counted in a gap, and each offset is right.
func FuzzFollow(f *testing.F) {
	f.Add([]byte("hello\nworld\n"), uint16(4), uint16(4), uint16(4), uint16(3))
	f.Add(bytes.Repeat([]byte("\xff\uFFFDx"), 40), uint16(20), uint16(30), uint16(7), uint16(50))
	f.Add(bytes.Repeat([]byte("\xff"), 400), uint16(100), uint16(100), uint16(16), uint16(400))
	f.Add(bytes.Repeat([]byte("\uFFFD\xbf\xbd"), 20), uint16(900), uint16(900), uint16(16), uint16(77))
	f.Add([]byte("\n\n... [omitted 7 bytes] ...\n\nand more of it"), uint16(9), uint16(9), uint16(100), uint16(100))
	f.Fuzz(func(t *testing.T, data []byte, head, tail, limit, piece uint16) {
		if len(data) > 1<<14 {
			return
		}
		checkFollow(t, data, int(head), int(tail), int(limit)%2000, int(piece)+1)
	})
}
