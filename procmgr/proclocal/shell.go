package proclocal

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// defaultShell returns the default words before a command. goos is a value of
// [runtime.GOOS], and look finds a program on PATH.
//
// On Windows the bash on PATH may belong to WSL, which is another machine with other
// files. The bash beside the sh that Start would run does not.
func defaultShell(goos string, look func(name string) (string, error)) []string {
	name := "bash"
	if goos == "windows" {
		sh, err := look("sh")
		if err != nil {
			return []string{"sh", "-c"} // New says what to install
		}
		name = filepath.Join(filepath.Dir(sh), "bash.exe")
	}
	if _, err := look(name); err != nil {
		name = "sh"
	}
	return []string{name, "-c"}
}

// shells are the programs that are known to interpret commands.
var shells = []string{
	"sh", "bash", "dash", "ash", "ksh", "ksh93", "mksh", "yash", "zsh", "fish", "csh", "tcsh",
	"cmd", "powershell", "pwsh",
}

// interpreter returns the name of the shell among the words before a command,
// or "". goos is a value of [runtime.GOOS].
func interpreter(goos string, words []string) string {
	for i := len(words) - 1; i >= 0; i-- {
		name := shellName(goos, words[i])
		if !slices.Contains(shells, name) {
			continue
		}
		switch {
		case name == "cmd", name == "powershell", name == "pwsh":
			return name // its options have values
		case !onlyOptions(words[i+1:]):
			return ""
		case name == "sh" && i > 0 && shellName(goos, words[i-1]) == "busybox":
			return "ash"
		}
		return name
	}
	return ""
}

// onlyOptions reports whether the words after a shell are options of that
// shell, with their values. Any other word may be a user, a host or a script
// that runs yet another shell.
func onlyOptions(words []string) bool {
	for len(words) > 0 {
		word := words[0]
		words = words[1:]
		if len(word) < 2 || word[0] != '-' && word[0] != '+' {
			return false
		}
		long := strings.HasPrefix(word, "--")
		last := word[len(word)-1]
		if word == "--rcfile" || word == "--init-file" || !long && (last == 'o' || last == 'O') {
			words = words[min(1, len(words)):]
		}
	}
	return true
}

// shellName returns the name of the shell that a word may call.
func shellName(goos, word string) string {
	if goos == "windows" {
		word = strings.TrimSuffix(strings.ToLower(strings.ReplaceAll(word, `\`, "/")), ".exe")
	}
	return word[strings.LastIndexByte(word, '/')+1:]
}

// shellOf returns the shell that words before a command call, or "". If it is an sh that
// is really another shell, it is that one. look finds a program on PATH.
func shellOf(words []string, look func(name string) (string, error)) string {
	name := interpreter(runtime.GOOS, words)
	if name != "sh" || shellName(runtime.GOOS, words[0]) != name {
		return name
	}
	file, err := look(words[0])
	if err != nil {
		return name
	}
	if runtime.GOOS == "windows" {
		// The sh of Git for Windows, of MSYS2 and of Cygwin is a copy of the
		// bash beside it.
		if _, err := os.Stat(filepath.Join(filepath.Dir(file), "bash.exe")); err == nil {
			return "bash"
		}
		return name
	}
	if file, err = filepath.EvalSymlinks(file); err != nil {
		return name
	}
	switch filepath.Base(file) {
	case "bash":
		return "bash"
	case "busybox":
		return "ash"
	}
	return name
}
