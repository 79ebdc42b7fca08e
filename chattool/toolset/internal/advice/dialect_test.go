package advice_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// onShell returns the notes on a command that a shell has run.
func onShell(shell, command string, code int) string {
	r := exited(command, code, "")
	r.Command.Shell = shell
	return noteOf(r)
}

func TestDialect(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		shell, command string
		code           int
		want           string // "" is no note
	}{
		{"cmd", "echo 'a & b'", 0, "The shell is cmd. In it, `'…'` is no quotation; write \"…\"."},
		{"cmd", "git commit -m 'first try'", 1, "`'…'`"},
		{"cmd", "echo $HOME", 0, "%NAME%"},
		{"cmd", "echo ${HOME}", 0, "%NAME%"},
		{"cmd", "cd $(git rev-parse --show-toplevel)", 1, "`$(…)`"},
		{"cmd", "cd src; dir", 1, "`;`"},
		{"cmd", "type a.txt >/dev/null", 1, "NUL"},
		{"cmd", "dir & type a.txt", 0, ""},
		{"cmd", "echo %PATH%", 0, ""},
		{"cmd", `powershell -Command "echo $HOME; exit 3"`, 3, ""},
		{"cmd", `python -c "print('a b'); print($1)"`, 1, ""},
		{"cmd", "go test ./...", 130, ""},
		{"powershell", "echo $PATH", 0, "$env:PATH"},
		{"powershell", "go test ./... > log.txt", 0, "UTF-16"},
		{"powershell", "go test ./... 2>&1", 0, ""},
		{"powershell", "go test ./...", 1, "exit $LASTEXITCODE"},
		{"powershell", "go test ./...; exit $LASTEXITCODE", 1, ""},
		{"powershell", "exit 1", 1, ""},
		{"powershell", "go test ./...", 0, ""},
		{"powershell", "$x = 3; echo $x", 0, ""},
		{"powershell", "$x -gt 3", 0, ""},
		{"pwsh", "go test ./... > log.txt", 0, ""},
		{"pwsh", "cat a.txt 2>/dev/null", 1, "$null"},
		{"pwsh", "go test ./...", 1, "exit $LASTEXITCODE"},
		{"bash", "go test ./... >/dev/null; echo $PATH", 1, ""},
	} {
		got := onShell(tt.shell, tt.command, tt.code)
		if tt.want == "" {
			require.Empty(t, got, "%s: %s", tt.shell, tt.command)
			continue
		}
		require.Contains(t, got, tt.want, "%s: %s", tt.shell, tt.command)
		require.NotContains(t, onShell("bash", tt.command, tt.code), "The shell is")
	}
}
