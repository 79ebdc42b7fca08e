package prockeep

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// These tests are internal because no test through the exported API can cut a write in
// two or run a keeper's every second instruction beside another one's.

func openIDs(t testing.TB, dir string) *idFile {
	t.Helper()
	w := newIDFile(dir, true)
	require.NoError(t, w.join())
	t.Cleanup(w.close)
	return w
}

// claimed appends a start, and reports whether the keeper may run the ID.
func claimed(t testing.TB, w *idFile, keeper string, seq uint64, key idKey) bool {
	t.Helper()
	require.NoError(t, w.join())
	require.NoError(t, w.append(line{Kind: lineStart, Keeper: keeper, Seq: seq, Chat: key.chat, ID: key.id}))
	c := w.claims[key]
	return c != nil && c.Keeper == keeper && c.Seq == seq
}

// A file is removed and replaced while two keepers write to it: what they have claimed
// stays claimed.
func TestIDsRemoved(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, nameIDs)
	old, newest := openIDs(t, dir), openIDs(t, dir)
	require.NoError(t, old.append(line{Kind: lineGeneration, Keeper: "old"}))
	require.True(t, claimed(t, old, "old", 1, idKey{"", "a"}))
	require.NoError(t, newest.append(line{Kind: lineGeneration, Keeper: "new"}))
	for i := range 200 {
		switch rand.N(3) {
		case 0:
			require.NoError(t, os.Remove(path))
		case 1:
			require.NoError(t, os.Rename(path, path+".old"))
		default:
			other := openIDs(t, t.TempDir()) // a file that knows nothing
			require.NoError(t, other.append(line{Kind: lineGeneration, Keeper: "stranger"}, line{Kind: lineGone, Keeper: "stranger"}))
			require.NoError(t, os.Rename(other.path, path))
			other.close()
		}
		first, second := old, newest
		if rand.N(2) == 0 {
			first, second = second, first
		}
		require.NoError(t, first.join())
		require.NoError(t, second.join())
		require.False(t, claimed(t, old, "old", uint64(i+2), idKey{"", fmt.Sprint(i)}))
		if newest.newest == "new" {
			require.True(t, claimed(t, newest, "new", uint64(i+1), idKey{"", fmt.Sprint(i)}))
		} else {
			require.NoError(t, newest.append(line{Kind: lineGeneration, Keeper: "new"})) // after a stranger
		}
		require.False(t, claimed(t, newest, "new", uint64(i+1), idKey{"", "a"}))
		require.Equal(t, "old", newest.claims[idKey{"", "a"}].Keeper)
	}
	// A file is compacted by the last keeper alone.
	count := len(newest.claims)
	before, err := os.Stat(path)
	require.NoError(t, err)
	require.NoError(t, newest.compact())
	require.True(t, isAt(path, before), "another keeper has it open")
	old.close()
	require.NoError(t, newest.compact())
	require.False(t, isAt(path, before))
	require.Len(t, newest.claims, count)
	require.Equal(t, "new", newest.newest)
}

// A new file keeps only the latest ended IDs, but every ID that may still run.
func TestIDsCompact(t *testing.T) {
	w := openIDs(t, t.TempDir())
	since := w.whole
	lines := []line{{Kind: lineGeneration, Keeper: "k"}}
	for i := range maxTombstones + 100 {
		start := line{Kind: lineStart, Keeper: "k", Seq: uint64(i + 1), Chat: "c", ID: fmt.Sprint(i), At: since + int64(i)}
		lines = append(lines, start)
		if i > 0 {
			start.Kind = lineEnd
			lines = append(lines, start)
		}
	}
	require.NoError(t, w.append(lines...))
	require.NoError(t, w.compact())
	require.Equal(t, since+99, w.whole)
	require.Len(t, w.claims, maxTombstones+1)
	require.Nil(t, w.claims[idKey{"c", "0"}].end)
	require.Nil(t, w.claims[idKey{"c", "99"}])
	require.NotNil(t, w.claims[idKey{"c", "100"}].end)
	require.Len(t, w.live, 1)
}

// FuzzIDs appends lines and cuts some writes short. That loses no other line, and a
// table says the same after it is written anew.
func FuzzIDs(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, "chat\n 1", []byte{3, 0, 200})
	f.Add([]byte{1, 1, 11, 21, 31, 5, 1}, "\x00\xff", []byte{})
	f.Fuzz(func(t *testing.T, script []byte, chat string, cuts []byte) {
		chat = strings.ToValidUTF8(chat, "") // as every chat of a keeper
		w := openIDs(t, t.TempDir())
		want := newTable()
		want.instance, want.whole = w.table.instance, w.table.whole
		for i, op := range script {
			l := line{Keeper: fmt.Sprint("k", op/64), Seq: uint64(op / 16 % 4), Chat: chat, ID: fmt.Sprint(op / 32)}
			switch op % 8 {
			case 0:
				l = line{Kind: lineGeneration, Keeper: l.Keeper, PID: 7}
			case 1, 2, 3:
				l.Kind, l.Print, l.Lineage = lineStart, "print", &osproc.Lineage{Mark: 6, Cookie: chat}
			case 4:
				l.Kind = lineStop
			case 5:
				l.Kind, l.EndedBy = lineEnd, procmgr.CauseExit
			case 6:
				l.Kind = lineForget
			case 7:
				l = line{Kind: lineGone, Keeper: l.Keeper}
			}
			data := encode(l)
			if i < len(cuts) && int(cuts[i]) < len(data)-1 {
				_, err := w.file.Write(data[:cuts[i]])
				require.NoError(t, err)
				require.NoError(t, w.read())
				continue
			}
			require.NoError(t, w.append(l))
			decoded, ok := decode(data[1 : len(data)-1])
			require.True(t, ok)
			want.add(decoded)
		}
		require.Equal(t, *want, w.table)

		// Again, as after a removal.
		require.NoError(t, os.Remove(w.path))
		before := w.table
		require.NoError(t, w.join())
		require.Len(t, w.live, len(before.live))
		require.Len(t, w.claims, len(before.claims))
		for key, c := range before.claims {
			require.NotNil(t, w.claims[key])
			c.Again = true
			require.Equal(t, c, w.claims[key])
		}
		if before.generations[before.newest] != nil {
			require.Equal(t, before.newest, w.newest)
		} else {
			require.Empty(t, w.newest)
		}
	})
}
