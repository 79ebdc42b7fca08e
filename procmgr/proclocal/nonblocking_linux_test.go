package proclocal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
)

// A program that does not wait for room in the pipe, because another one has made that
// non-blocking, prints all of a large output.
func TestPipeHasRoom(t *testing.T) {
	testenv.Programs(t, "dd")
	everywhere(t, func(t *testing.T) {
		out := run(t, newLocal(t, nil), "dd if=/dev/zero bs=900000 count=1 oflag=nonblock 2>/dev/null; exit $?")
		require.Equal(t, 0, *out.Process.ExitCode)
		require.EqualValues(t, 900000, out.Next)
	})
}
