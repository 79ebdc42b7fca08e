package check_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/check"
)

// KeyNames has every key, and no other.
func TestKeyNames(t *testing.T) {
	var listed []procmgr.Key
	for _, name := range procmgr.KeyNames() {
		switch from, to, isRange := strings.Cut(name, " to "); {
		case from == "f1":
			require.Equal(t, "f12", to)
			for _, n := range []string{"1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12"} {
				listed = append(listed, procmgr.Key("f"+n))
			}
		case isRange:
			require.Equal(t, "ctrl-a to ctrl-z", name)
			for c := 'a'; c <= 'z'; c++ {
				b, err := check.KeyBytes("ctrl-"+procmgr.Key(c), false)
				require.NoError(t, err)
				require.Equal(t, string(c&0x1f), b)
			}
		case strings.HasPrefix(name, "alt-"):
		default:
			listed = append(listed, procmgr.Key(name))
		}
	}
	require.ElementsMatch(t, check.NamedKeys(), listed)
	names := procmgr.KeyNames()
	names[0] = "changed"
	require.NotEqual(t, names, procmgr.KeyNames())
}

// A key is known or ErrInvalid. Its bytes are few, and alt- only adds an ESC.
func FuzzKey(f *testing.F) {
	for _, seed := range []string{"enter", "alt-x", "alt-alt-x", "ctrl-alt-x", "ctrl-a", "f13", "alt-enter", "", "alt-", "ctrl-\x00"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		b, err := check.KeyBytes(procmgr.Key(name), false)
		if err != nil {
			require.ErrorIs(t, err, procmgr.ErrInvalid)
			return
		}
		require.NotEmpty(t, b)
		require.LessOrEqual(t, len(b), 8)
		if rest, ok := strings.CutPrefix(name, "alt-"); ok {
			if inner, err := check.KeyBytes(procmgr.Key(rest), false); err == nil {
				rest = inner
			}
			require.Equal(t, "\x1b"+rest, b)
		} else {
			require.True(t, slices.Contains(check.NamedKeys(), procmgr.Key(name)) || len(name) == len("ctrl-a"))
		}
	})
}
