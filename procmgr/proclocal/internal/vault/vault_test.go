package vault_test

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/redact"
	"github.com/toolproc/toolproc/procmgr/proclocal/internal/vault"
)

func TestVault(t *testing.T) {
	v := vault.Open(nil)
	changes := 0
	changed := func(file *os.File) error {
		changes++
		require.Equal(t, runtime.GOOS == "linux", file != nil)
		return nil
	}
	often, odd := redact.Value{Name: "A", Value: "often"}, redact.Value{Name: "B", Value: "\xff\x00odd"}
	require.NoError(t, v.Add([]redact.Value{often, odd}, changed))
	require.NoError(t, v.Add([]redact.Value{often}, changed))
	require.Equal(t, 1, changes)
	for i := range 2000 {
		require.NoError(t, v.Add([]redact.Value{often, {Name: "C", Value: fmt.Sprint("value ", i)}}, changed))
	}
	values := v.Values()
	require.Len(t, values, 1024)
	require.Contains(t, values, often)
	require.NotContains(t, values, odd)
	if runtime.GOOS == "linux" {
		fd, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", v.File().Fd()))
		require.NoError(t, err)
		next := vault.Open(fd)
		require.ElementsMatch(t, values, next.Values())
		next.Close()
	}
	v.Close()
	(*vault.Vault)(nil).Close()
	require.Empty(t, (*vault.Vault)(nil).Values())
	require.NoError(t, (*vault.Vault)(nil).Add([]redact.Value{often}, changed))
}

func TestOddBytes(t *testing.T) {
	odd := redact.Value{Name: "B", Value: "\xff\x00odd"}
	v := vault.Open(nil)
	require.NoError(t, v.Add([]redact.Value{odd}, func(*os.File) error { return nil }))
	if runtime.GOOS == "linux" {
		fd, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", v.File().Fd()))
		require.NoError(t, err)
		require.Equal(t, []redact.Value{odd}, vault.Open(fd).Values())
	}
}

// A value that nobody could be told of is told again.
func TestChangeFails(t *testing.T) {
	v := vault.Open(nil)
	full := errors.New("no room")
	value := []redact.Value{{Name: "A", Value: "value"}}
	require.ErrorIs(t, v.Add(value, func(*os.File) error { return full }), full)
	require.Empty(t, v.Values())
	told := false
	require.NoError(t, v.Add(value, func(*os.File) error { told = true; return nil }))
	require.True(t, told)
	require.Equal(t, value, v.Values())
}
