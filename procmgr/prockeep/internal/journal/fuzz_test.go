//go:build unix

package journal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/prockeep/internal/journal"
)

// kinds are what FuzzJournal writes, by number.
var kinds = []journal.Kind{journal.Starting, journal.Started, journal.Turned, journal.NotStarted, journal.Forgotten}

// Whatever is cut off from the end of a journal, and whichever byte of the rest
// has changed: an ID whose line was written is known, unless its last line ended
// it, or the journal says that it is in doubt. A byte of a record is no reason for
// doubt.
func FuzzJournal(f *testing.F) {
	f.Add([]byte{0, 0, 5, 1, 10, 2}, uint16(3), uint16(40), byte(0x20), []byte(nil))
	f.Add([]byte{0, 5, 10, 15, 4, 9, 1}, uint16(0), uint16(200), byte(1), []byte("garbage\n"))
	f.Add([]byte{0, 0, 0}, uint16(0), uint16(0xffff), byte(0x80), []byte{'\n'})
	f.Add([]byte(".20"), uint16(3), uint16(112), byte(4), []byte("000"))
	f.Add([]byte("2"), uint16(0), uint16(369), byte('I'), []byte(nil)) // an end of a line within it
	f.Fuzz(func(t *testing.T, ops []byte, cut, at uint16, flip byte, garbage []byte) {
		path := filepath.Join(t.TempDir(), "journal")
		j := open(t, path)
		var ends []int // of each line in the file
		var entries []journal.Entry
		size := 0
		for _, op := range ops[:min(len(ops), 40)] {
			e := journal.Entry{Key: key(int(op) / len(kinds)), Kind: kinds[int(op)%len(kinds)], Record: bytes.Repeat([]byte{op}, int(op)%7)}
			require.NoError(t, j.Append(e.Kind, e.Key, e.Record))
			info, err := os.Stat(path)
			require.NoError(t, err)
			size = int(info.Size())
			ends, entries = append(ends, size), append(entries, e)
		}
		require.NoError(t, j.Close())
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Len(t, text, size)
		text = text[:len(text)-min(int(cut), len(text))]
		written := entries[:0:0]
		for i, end := range ends {
			if end <= len(text) {
				written = append(written, entries[i])
			}
		}
		inRecord := flip == 0
		if len(text) > 0 {
			place := int(at) % len(text)
			begin := bytes.LastIndexByte(text[:place], '\n') + 1
			inRecord = inRecord || bytes.Count(text[begin:place], []byte(" ")) == 2 && text[place] != ' '
			text[place] ^= flip
			inRecord = inRecord && (flip == 0 || text[place] != ' ' && text[place] != '\n')
		}
		text = append(text, garbage...)
		require.NoError(t, os.WriteFile(path, text, 0o600))

		for range 2 { // the second time, what the first one has written anew
			again := open(t, path)
			known := make(map[journal.Key]journal.Entry)
			for _, e := range again.Found() {
				known[e.Key] = e
			}
			last := make(map[journal.Key]journal.Entry)
			for _, e := range written {
				last[e.Key] = e
			}
			for k, want := range last {
				got, ok := known[k]
				over := want.Kind == journal.NotStarted || want.Kind == journal.Forgotten
				if again.Doubt() || over {
					continue
				}
				require.True(t, ok, "%v is not known: %q", k, text)
				if len(garbage) == 0 && flip == 0 {
					require.Equal(t, want.Kind, got.Kind)
					require.Equal(t, string(want.Record), string(got.Record))
					require.False(t, got.Damaged)
				}
			}
			if len(garbage) == 0 && inRecord {
				require.False(t, again.Doubt(), "%q", text)
			}
			require.NoError(t, again.Append(journal.Starting, key(1000), nil))
			require.NoError(t, again.Close())
			written = append(written, journal.Entry{Key: key(1000), Kind: journal.Starting})
		}
	})
}
