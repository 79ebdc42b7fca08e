package proclocal_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Output for a terminal is read as plain text.
func TestPlainText(t *testing.T) {
	const command = `printf '\033[1;32mok\033[0m\r\n'; printf 'get 1%%\rget 50%%\rget 100%%\n'; printf '\033]0;title\007end\n'`
	require.Equal(t, "ok\nget 1%\nget 100%\nend\n", run(t, newLocal(t, nil), command).Text)
}
