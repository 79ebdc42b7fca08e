package osproc

import (
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/windows"
)

const (
	// maxCommandLine is the longest line that CreateProcess takes, in UTF-16
	// units including the NUL at the end.
	maxCommandLine = 1<<15 - 1
	// MaxCommand is the longest command in bytes: every longer one has too many
	// units. The start checks the length of the whole line, with the shell and
	// the quotes.
	MaxCommand = 3 * (maxCommandLine - 1)
)

// commandLine joins arguments to one line, which the program takes apart again.
// There are three ways to do that, and it depends on the program.
func commandLine(file string, argv []string) string {
	var line strings.Builder
	last := len(argv) - 1
	for i, arg := range argv {
		if i > 0 {
			line.WriteByte(' ')
		}
		switch {
		case i == 0:
			line.WriteString(windows.EscapeArg(arg))
		case i == last && isCmd(file):
			// The command is the text between the first and the last quote, as
			// it is.
			line.WriteString(`"` + arg + `"`)
		case isCygwin(file):
			line.WriteString(`"` + cygwinQuotes.Replace(arg) + `"`)
		default:
			line.WriteString(windows.EscapeArg(arg))
		}
	}
	return line.String()
}

// isCmd reports whether a program is the command interpreter of Windows.
func isCmd(file string) bool {
	return strings.EqualFold(filepath.Base(file), "cmd.exe")
}

// cygwinQuotes quotes for programs that are built on Cygwin, and so for MSYS2
// and Git for Windows. Unlike in the rest of Windows, two backslashes between
// quotes are always one. Git itself does the same for its sh.
var cygwinQuotes = strings.NewReplacer(`\`, `\\`, `"`, `\"`)

// isCygwin reports whether a program is built on Cygwin. The library is then
// beside the program or, for GIT\bin\sh.exe, beside the sh that this one
// starts.
func isCygwin(file string) bool {
	dir := filepath.Dir(file)
	for _, library := range []string{
		filepath.Join(dir, "msys-2.0.dll"),
		filepath.Join(dir, "cygwin1.dll"),
		filepath.Join(filepath.Dir(dir), "usr", "bin", "msys-2.0.dll"),
	} {
		if _, err := os.Stat(library); err == nil {
			return true
		}
	}
	return false
}
