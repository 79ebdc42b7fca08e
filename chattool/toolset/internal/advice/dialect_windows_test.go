package advice_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// cmd does what the notes say that it does.
func TestDialectAgainstCmd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ command, prints string }{
		{"echo 'a b'", "'a b'"},
		{"echo $HOME", "$HOME"},
		{"echo $(ver)", "$(ver)"},
		{"echo a; echo b", "a; echo b"},
	} {
		require.Contains(t, onShell("cmd", tt.command, 0), "The shell is cmd", tt.command)
		out, err := exec.Command("cmd", append([]string{"/c"}, strings.Fields(tt.command)...)...).Output()
		require.NoError(t, err, tt.command)
		require.Equal(t, tt.prints, strings.TrimSpace(string(out)), tt.command)
	}
}
