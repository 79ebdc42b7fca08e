//go:build unix

package journal_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/prockeep/internal/journal"
)

func open(t testing.TB, path string) *journal.Journal {
	t.Helper()
	j, err := journal.Open(path)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, j.Close()) })
	return j
}

// reread opens a copy of a journal that is open.
func reread(t testing.TB, path string) *journal.Journal {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	path = filepath.Join(t.TempDir(), "copy")
	require.NoError(t, os.WriteFile(path, text, 0o600))
	return open(t, path)
}

func key(i int) journal.Key {
	return journal.Key{Seq: uint64(i), Chat: fmt.Sprintf("chat %d/ä", i%3), ID: fmt.Sprintf("id-%d", i)}
}

// The last line of each process is what a journal has when it is opened again.
func TestLastLineCounts(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	require.NoError(t, j.Append(journal.Starting, key(1), []byte("a\nb")))
	require.NoError(t, j.Append(journal.Starting, key(2), nil))
	require.NoError(t, j.Append(journal.Starting, key(3), []byte("c")))
	require.NoError(t, j.Append(journal.Started, key(1), []byte("d \x00\xff\n")))
	j.Tell(journal.NotStarted, key(2), nil)
	j.Tell(journal.Turned, key(3), []byte("e"))
	require.NoError(t, j.Append(journal.Note, journal.Key{ID: "instance"}, []byte("x")))

	again := reread(t, path)
	require.False(t, again.Doubt())
	require.Equal(t, []journal.Entry{
		{Key: journal.Key{ID: "instance"}, Kind: journal.Note, Record: []byte("x")},
		{Key: key(1), Kind: journal.Started, Record: []byte("d \x00\xff\n")},
		{Key: key(3), Kind: journal.Turned, Record: []byte("e")},
	}, again.Found())
}

// A journal does not grow with what is over, and loses nothing when it is written
// anew, while several goroutines write.
func TestCompact(t *testing.T) {
	const goroutines, each = 4, 1000
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	var wg sync.WaitGroup
	for g := range goroutines {
		wg.Go(func() {
			for i := range each {
				k := key(g*each + i)
				if err := j.Append(journal.Starting, k, make([]byte, 200)); err != nil {
					t.Error(err)
				}
				j.Tell(journal.Started, k, make([]byte, 200))
				if i%100 != 0 {
					j.Tell(journal.Forgotten, k, nil)
				}
			}
		})
	}
	wg.Wait()
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(1<<20))
	require.NoError(t, j.Close())
	for range 2 { // opened anew, it is written anew
		again := open(t, path)
		require.False(t, again.Doubt())
		found := again.Found()
		require.NoError(t, again.Close())
		require.Len(t, found, goroutines*each/100)
		for i, e := range found {
			require.Equal(t, journal.Entry{Key: key(i * 100), Kind: journal.Started, Record: make([]byte, 200)}, e)
		}
	}
}

// If the whole file is garbage, nothing of it is believed, and it can be written.
func TestGarbage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	require.NoError(t, os.WriteFile(path, []byte("no journal\n\x00\x00\x00\n"), 0o600))
	j := open(t, path)
	require.True(t, j.Doubt())
	require.Empty(t, j.Found())
	require.NoError(t, j.Append(journal.Starting, key(1), nil))
	require.Len(t, reread(t, path).Found(), 1)
}

// A line that is torn at the end of the file was never written; the lines after it
// are whole.
func TestTorn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	require.NoError(t, j.Append(journal.Starting, key(1), []byte("one")))
	first, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, j.Append(journal.Starting, key(2), []byte("two")))
	both, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, j.Close())
	for cut := len(first); cut < len(both); cut++ {
		require.NoError(t, os.WriteFile(path, both[:cut], 0o600))
		torn := open(t, path)
		require.False(t, torn.Doubt(), cut)
		require.Equal(t, []journal.Entry{{Key: key(1), Kind: journal.Starting, Record: []byte("one")}}, torn.Found(), cut)
		require.NoError(t, torn.Append(journal.Starting, key(3), []byte("three")))
		require.NoError(t, torn.Close())
		again := open(t, path)
		require.False(t, again.Doubt(), cut)
		require.Len(t, again.Found(), 2, cut)
		require.NoError(t, again.Close())
	}
}

// A journal that is removed makes room for another one at once, and has nothing to
// do with it.
func TestRemove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	require.NoError(t, j.Append(journal.Starting, key(1), nil))
	require.NoError(t, os.WriteFile(path+".new", nil, 0o600)) // a keeper was killed in the midst of it
	require.NoError(t, j.Remove())
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	require.Empty(t, left)
	next := open(t, path)
	require.Empty(t, next.Found())
	require.NoError(t, next.Append(journal.Starting, key(2), nil))
	for i := range 5000 { // it would be written anew
		require.NoError(t, j.Append(journal.Turned, key(1), nil), i)
	}
	require.NoError(t, j.Close())
	require.ErrorIs(t, j.Append(journal.Starting, key(1), nil), os.ErrClosed)
	found := reread(t, path).Found()
	require.Len(t, found, 1)
	require.Equal(t, key(2), found[0].Key)
}

// A few long lines are as much as many short ones.
func TestCompactLongLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	long := make([]byte, 1<<20)
	largest := int64(0)
	for i := range 40 {
		require.NoError(t, j.Append(journal.Starting, key(i%3), long))
		info, err := os.Stat(path)
		require.NoError(t, err)
		largest = max(largest, info.Size())
	}
	require.Less(t, largest, int64(15<<20))
	found := reread(t, path).Found()
	require.Len(t, found, 3)
	require.Len(t, found[2].Record, len(long))
}

// If it cannot be written anew, it goes on as it is.
func TestCompactFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	j := open(t, path)
	require.NoError(t, os.Mkdir(path+".new", 0o700))
	long := make([]byte, 1<<20)
	for range 20 {
		require.NoError(t, j.Append(journal.Starting, key(1), long))
	}
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Greater(t, info.Size(), int64(20<<20))
	require.NoError(t, os.RemoveAll(path+".new"))
	for range 8 {
		require.NoError(t, j.Append(journal.Starting, key(1), long))
	}
	info, err = os.Stat(path)
	require.NoError(t, err)
	require.Less(t, info.Size(), int64(15<<20))
	require.Len(t, reread(t, path).Found(), 1)
}

func BenchmarkAppend(b *testing.B) {
	j := open(b, filepath.Join(b.TempDir(), "journal"))
	record := make([]byte, 500)
	for i := 0; b.Loop(); i++ {
		if err := j.Append(journal.Starting, key(i%100), record); err != nil {
			b.Fatal(err)
		}
	}
}

// One program at a time has a journal.
func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	open(t, path)
	_, err := journal.Open(path)
	require.ErrorContains(t, err, "the journal cannot be locked")
}

// A journal that has another name goes on there, also when it is written anew, and
// leaves its old name to another one.
func TestMove(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal")
	moved := path + ".moved"
	_, err := journal.Resume(path)
	require.ErrorIs(t, err, fs.ErrNotExist)
	j, err := journal.Open(path)
	require.NoError(t, err)
	require.NoError(t, j.Append(journal.Started, journal.Key{Seq: 1, ID: "x"}, []byte("one")))
	require.NoError(t, j.Move(moved))
	next, err := journal.Open(path)
	require.NoError(t, err)
	require.Empty(t, next.Found())
	for range 3000 { // most of the lines are dead
		j.Tell(journal.Turned, journal.Key{Seq: 1, ID: "x"}, []byte("two"))
	}
	_, err = journal.Resume(moved)
	require.ErrorIs(t, err, journal.ErrLocked)
	require.NoError(t, j.Close())
	j, err = journal.Resume(moved)
	require.NoError(t, err)
	found := j.Found()
	require.Len(t, found, 1)
	require.Equal(t, "two", string(found[0].Record))
	require.NoError(t, j.Remove())
	require.NoError(t, j.Close())
	require.NoFileExists(t, moved)
	require.FileExists(t, path)
	require.NoError(t, next.Close())
}
