package advice

import (
	"fmt"
	"regexp"
	"strings"
)

// A habit is a construct of POSIX shells that a shell of Windows takes for something
// else, without an error.
type habit struct {
	name    string // as the note writes it
	in      *regexp.Regexp
	does    string
	instead string
}

// The language of cmd. That of PowerShell prints an error for most of what it does not
// know, and a model reads that.
var (
	cmdHabits = []habit{
		{"'…'", regexp.MustCompile(`(?:^|[ =(])'[^'"]*[ &|<>][^'"]*'`), "is no quotation", `"…"`},
		{"$(…)", regexp.MustCompile(`\$\(`), asItIs, "for /f"},
		{"$NAME", regexp.MustCompile(`\$(?:[A-Za-z_]\w*|\{\w+\})`), asItIs, "%NAME%"},
		{";", regexp.MustCompile(`[^\s;"'];\s+[A-Za-z]`), "separates arguments, not commands", "& or &&"},
		{"/dev/null", regexp.MustCompile(`/dev/null`), "is a file", "NUL"},
	}
	powerShellHabits = []habit{
		{"$PATH", regexp.MustCompile(`\$(?:PATH|USER|SHELL|TMPDIR|EDITOR|LANG)\b`), isEmpty, "$env:PATH and so on"},
		{"/dev/null", regexp.MustCompile(`/dev/null`), "is a file", "$null"},
	}
	oldPowerShellHabits = append(powerShellHabits[:len(powerShellHabits):len(powerShellHabits)],
		habit{">", regexp.MustCompile(`(?:^|[^-2&>])>{1,2}\s*[\w.]`), "writes UTF-16", "| Out-File -Encoding utf8 FILE"})
)

// onWindows reports whether a shell has a language of Windows.
func onWindows(shell string) bool {
	return shell == "cmd" || shell == "powershell" || shell == "pwsh"
}

// dialect says what a shell of Windows does with a command that was written for a
// POSIX shell, and what an exit code of PowerShell means. What a command says between
// double quotes is not looked at: it is often another language.
func (r Result) dialect() string {
	shell := r.Command.Shell
	if !onWindows(shell) || len(r.Command.Text) > maxAdvised || r.Reading && !r.Failed {
		return ""
	}
	text := inDoubleQuotes.ReplaceAllString(r.Command.Text, `""`)
	habits := cmdHabits
	switch shell {
	case "powershell":
		habits = oldPowerShellHabits
	case "pwsh":
		habits = powerShellHabits
	}
	for _, h := range habits {
		if h.in.MatchString(text) {
			return fmt.Sprintf("The shell is %s. In it, %s %s; write %s.", shell, quoted(h.name), h.does, h.instead)
		}
	}
	if code, ok := r.code(); ok && code == 1 && shell != "cmd" && !strings.Contains(r.Command.Text, "LASTEXITCODE") && !exits.MatchString(text) {
		return "exit_code 1 is any failure: " + shell + " does not pass on the code of a program. If it matters, end the command with `; exit $LASTEXITCODE`."
	}
	return ""
}

var (
	inDoubleQuotes = regexp.MustCompile(`"[^"]*"`)
	exits          = regexp.MustCompile(`(?i)\bexit\b`)
)
