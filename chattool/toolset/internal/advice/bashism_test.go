package advice_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/internal/testenv"
)

// bashisms are scripts that bash runs otherwise than other shells. silent says
// that dash prints no error, and ash that the shell of BusyBox does as bash
// does.
var bashisms = []struct {
	name   string // as a note has it
	script string
	silent bool
	ash    bool
}{
	// The 27 that models write most.
	{name: "&>", script: "false &>/dev/null && echo PASS", silent: true, ash: true},
	{name: "&>>", script: "false &>>log && echo PASS", silent: true},
	{name: "$'…'", script: `printf '%s\n' $'a\tb'`, silent: true, ash: true},
	{name: "{1..3}", script: "for i in {1..3}; do echo $i; done", silent: true},
	{name: "{a,b}", script: "mkdir -p src/{a,b} && ls src", silent: true},
	{name: "echo -e", script: `echo -e "a\tb"`, silent: true, ash: true},
	{name: `echo \n`, script: `echo '{"text": "a\nb"}'`, silent: true, ash: true},
	{name: "$RANDOM", script: "echo ${RANDOM:+random}", silent: true, ash: true},
	{name: "$UID", script: `echo "${UID:+set}"`, silent: true},
	{name: "$SECONDS", script: `echo "${SECONDS:+set}"`, silent: true},
	{name: "$(<FILE)", script: "echo word > f; x=$(<f); echo $x", silent: true},
	{name: "$[ ]", script: "echo $[1 + 2]", silent: true},
	{name: `printf \x`, script: `printf '\x41\n'`, silent: true, ash: true},
	{name: "[[ ]]", script: "if [[ -d / ]]; then echo yes; else echo no; fi", ash: true},
	{name: "(( ))", script: "x=5; if ((x > 1)); then echo big; fi; ls"},
	{name: "<<<", script: "cat <<< hi"},
	{name: "<(…)", script: "cat <(echo hi)", ash: true},
	{name: "|&", script: "ls /nowhere |& wc -l"},
	{name: "NAME=(…)", script: "a=(1 2); echo ${a[1]}"},
	{name: "${NAME/…}", script: "x=aXa; echo ${x//a/b}", ash: true},
	{name: "${NAME:…}", script: "x=abcd; echo ${x:1:2}", ash: true},
	{name: "function NAME", script: "function f { echo hi; }; f", ash: true},
	{name: "source", script: "echo v=1 > f; source ./f; echo $v", ash: true},
	{name: "==", script: `[ a == a ] && echo yes`, ash: true},
	{name: "let", script: "let x=1+1; echo $x", ash: true},
	{name: "NAME+=", script: "x=a; x+=b; echo $x"},
	{name: "for ((", script: "for ((i = 0; i < 2; i++)); do echo $i; done"},

	// And others.
	{name: `$"…"`, script: `echo $"hi"`, silent: true},
	{name: `printf \u`, script: `printf '\u00e9\n'`, silent: true},
	{name: "$EPOCHSECONDS", script: `echo "${EPOCHSECONDS:+set}"`, silent: true, ash: true},
	{name: "echo -ne", script: `echo -ne 'a\tb'`, silent: true, ash: true},
	{name: "{1..3}", script: "touch f{1..3}; ls", silent: true},
	{name: ">(…)", script: "echo hi | tee >(cat >/dev/null)", ash: true},
	{name: ">&FILE", script: "echo a >& f; cat f", ash: true},
	{name: "{fd}>", script: "exec {fd}>f; ls"},
	{name: "${NAME^^}", script: "x=abc; echo ${x^^}"},
	{name: "${NAME,}", script: "x=ABC; echo ${x,}"},
	{name: "${!NAME}", script: "x=y; y=1; echo ${!x}"},
	{name: "${NAME@…}", script: "x='a b'; echo ${x@Q}"},
	{name: "NAME[…]=", script: "a[0]=1; echo $?"},
	{name: "function NAME", script: "function f() { echo hi; }; f", ash: true},
	{name: "my-function()", script: "my-function() { echo hi; }; my-function"},
	{name: "select", script: "select x in a b; do break; done </dev/null; echo $?"},
	{name: ";;&", script: "case a in a) echo 1 ;;& *) echo 2 ;; esac"},
	{name: "declare", script: "declare x=1; echo $x"},
	{name: "typeset", script: "typeset x=1; echo $x"},
	{name: "local -r", script: "f() { local -r x=1; echo $x; }; f"},
	{name: "**", script: "echo $((2 ** 3))", ash: true},
	{name: "++", script: "x=1; echo $((x++)) $x", ash: true},
	{name: "pushd", script: "pushd / >/dev/null; pwd"},
	{name: "shopt", script: "shopt -s nullglob; echo *.none"},
	{name: "mapfile", script: "mapfile -t a </dev/null; echo $?"},
	{name: "disown", script: "sleep 0 & disown"},
	{name: "builtin", script: "builtin echo hi"},
	{name: "coproc", script: "coproc cat"},
	{name: "read -a", script: "echo a b | { read -a x; echo $?; }"},
	{name: "read -n", script: "echo abc | { read -n 1 x; echo $x; }", ash: true},
	{name: "read -t", script: "echo abc | { read -t 1 x; echo $x; }", ash: true},
	{name: "read -d", script: "echo abc | { read -r -d b x; echo $x; }", ash: true},
	{name: "trap … ERR", script: "trap 'echo failed' ERR; false", ash: true},
	{name: "set -o pipefail", script: "set -euo pipefail; echo ok", ash: true},
	{name: "kill -SIGCONT", script: "kill -SIGCONT $$; echo $?", ash: true},
	{name: "printf -v", script: "printf -v x %s a; echo $x"},
	{name: "printf %q", script: "printf '%q\\n' 'a b'"},
	{name: "printf %(…)T", script: "printf '%(%Y)T\\n' 0"},
	{name: "[ -v NAME ]", script: "[ -v HOME ] && echo yes"},
	{name: "type -p", script: "type -p bash", ash: true},
	{name: "wait -n", script: "true & wait -n; echo $?", ash: true},
	{name: "export -f", script: "f() { echo; }; export -f f; echo $?"},
}

// common is what all of these shells run alike.
var common = []string{
	"true", "make -j4 2>&1 | tail -20", "cd / && ls >/dev/null 2>&1", "[ a = a ] && echo yes", "x=${HOME:-/root}; echo ${x%/*} ${#x}",
	"for i in 1 2 3; do echo $i; done", "find . -name '*.go' -exec wc -l {} +", "find . -name x -exec ls {} \\;", "awk '{print $1}' /dev/null", "git stash show stash@{0} 2>/dev/null; true",
	"echo $((1 + 2 * 3)) $((7 % 4))", "f() { local x=1; echo $x; }; f", "cat <<EOF\n$HOME {1..3} [[ a ]]\nEOF", "cat <<'EOF'\n${x//a/b} $RANDOM <(x)\nEOF",
	"echo '{1..3}' \"{a,b}\" '&>' '[[ ]]'", "echo \\{a,b\\}", "echo {a} {} a{b", "echo a # &> [[ ]] {1..3}", "case $HOME in /*) echo abs ;; *) echo rel ;; esac",
	"sh -c 'echo $0' x", "bash -c '[[ a == a ]] && echo {1..3}' || true", "printf '%s\\n' 'a\\tb' '$(x)'", "printf '\\101\\n'", "printf '\\\\x41\\n'", "echo \"a \\\"quoted\\\" \\$word\"",
	"echo 'a.b' | sed 's/\\./x/'", "grep -c 'a\\{1,3\\}' /dev/null; true", "set -eu; echo ok", "trap 'echo bye' EXIT; echo ok", "trap 'echo bye' INT TERM; echo ok", "read -r x </dev/null; echo $?",
	"while read -r x; do echo $x; done </dev/null", "kill -TERM 2147483646 2>/dev/null; true", "export A=1 B; echo $A", "echo -n a", "echo a >&2", "exec 3>&1; echo a >&3", "exec 3>&-; echo a",
	"A=1 env | grep -c ^A=", "command -v cd", "(cd /; pwd) && { echo a; }", "x=$(cat /dev/null); echo \"$x\"", "until true; do :; done", "! false", "echo $$ >/dev/null", "wait", "pushd() { echo mine; }; pushd x",
	"if [ -n \"$BASH_VERSION\" ]; then echo $RANDOM >/dev/null; fi",
}

func bashismIn(shell, command string, code int, output string) string {
	r := exited(command, code, output)
	r.Command = &script.Source{Text: command, Shell: shell}
	if notes := advice.Notes(r); len(notes) > 0 && strings.HasPrefix(notes[0], "The shell is "+shell+", not bash.") {
		return notes[0]
	}
	return ""
}

func TestBashisms(t *testing.T) {
	t.Parallel()
	for _, tt := range bashisms {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			const output = "set: Illegal option -o pipefail"
			for _, shell := range []string{"sh", "dash"} {
				require.Contains(t, bashismIn(shell, tt.script, 2, output), "`"+tt.name, tt.script)
			}
			require.Equal(t, tt.ash, bashismIn("ash", tt.script, 2, output) == "", "%s: %s", tt.script, bashismIn("ash", tt.script, 2, output))
			for _, shell := range []string{"", "bash", "zsh", "ksh", "fish", "cmd"} {
				require.Empty(t, bashismIn(shell, tt.script, 2, output), shell)
			}
			r := exited(tt.script, 0, "")
			r.Command, r.Reading = &script.Source{Text: tt.script, Shell: "sh"}, true
			require.NotContains(t, noteOf(r), "not bash", "the result of execute has said it")
		})
	}
	for _, command := range common {
		require.Empty(t, bashismIn("sh", command, 0, ""), command)
	}
}

func TestBashismNote(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, script, want string }{
		{"one", "make &>log",
			"The shell is sh, not bash. In it, `&>` runs the command in the background, empties the file and succeeds; write >FILE 2>&1."},
		{"what no error tells of comes first", "[[ -d x ]] || mkdir -p x/{a,b} &> log",
			"The shell is sh, not bash. In it, `{a,b}` stays as it is; write each word out. Also bash's: `&>`, `[[ ]]`."},
		{"many", "a=(1); b+=x; let c=1; source d; pushd e; [[ f ]]",
			"The shell is sh, not bash. In it, `NAME=(…)` is a syntax error: it has no arrays; write set -- … and \"$@\". Also bash's: `NAME+=`, `let`, `source`."},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, bashismIn("sh", tt.script, 0, ""))
		})
	}
	t.Run("before all others", func(t *testing.T) {
		t.Parallel()
		r := exited("probe $'a' | tail $GH_TOKEN", 0, "Password: ")
		r.Command.Shell, r.Output.Withheld = "sh", []string{"GH_TOKEN"}
		notes := advice.Notes(r)
		require.Len(t, notes, 2)
		require.Contains(t, notes[0], "not bash")
		require.Contains(t, notes[1], "GH_TOKEN")
	})
	t.Run("a failure that is read later", func(t *testing.T) {
		t.Parallel()
		r := exited("[[ a ]] && ./server", 127, "[[: not found")
		r.Command.Shell, r.Reading = "sh", true
		require.Contains(t, noteOf(r), "`[[ ]]`")
	})
	t.Run("a long script", func(t *testing.T) {
		t.Parallel()
		require.Empty(t, bashismIn("sh", "[[ a ]] #"+strings.Repeat("x", 20<<10), 0, ""))
	})
}

// The shells have the last word: what is called a bashism gives something else
// in them than in bash, with an error or without, and what is not does not.
func TestBashismsAgainstShells(t *testing.T) {
	t.Parallel()
	shells := map[string][]string{"bash": {"bash", "-c"}, "dash": {"dash", "-c"}, "ash": {"busybox", "sh", "-c"}}
	for name, words := range shells {
		file, err := exec.LookPath(words[0])
		if err != nil {
			delete(shells, name)
			continue
		}
		words[0] = file
	}
	testenv.Programs(t, "bash")
	if len(shells) < 2 {
		testenv.Lacks(t, "dash", "there is no shell beside bash")
	}
	// $0 and line numbers differ in what they say.
	paths := regexp.MustCompile(`(?m)^(.*/)?(bash|dash|busybox|sh):.*$`)
	run := func(t *testing.T, shell, command string) (text, errors string, code int) {
		dir := t.TempDir()
		cmd := exec.Command(shells[shell][0], append(shells[shell][1:], command)...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME=/home/ada", "LC_ALL=C.UTF-8", "PWD="+dir)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run() // its code is what counts
		text = strings.ReplaceAll(stdout.String(), dir, "DIR")
		return paths.ReplaceAllString(text, ""), stderr.String(), cmd.ProcessState.ExitCode()
	}
	for _, shell := range []string{"dash", "ash"} {
		if shells[shell] == nil {
			continue
		}
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			silent := 0
			for i, tt := range bashisms {
				want, _, wantCode := run(t, "bash", tt.script)
				got, errors, code := run(t, shell, tt.script)
				same := want == got && wantCode == code
				if shell == "ash" {
					// How much BusyBox takes from bash is decided when it is
					// built: it may know more than is said of it.
					if tt.ash {
						require.True(t, same, "%s: %q %d, in bash %q %d: %s", tt.script, got, code, want, wantCode, errors)
					}
					continue
				}
				if tt.name == "set -o pipefail" && same {
					continue // a newer dash
				}
				require.False(t, same, "%s is no bashism: %q %d", tt.script, got, code)
				require.Equal(t, tt.silent, errors == "" && code == 0, "%s: %q", tt.script, errors)
				if tt.silent && i < 27 {
					silent++
				}
			}
			if shell == "dash" {
				require.Equal(t, 13, silent, "of 27 ordinary ones")
			}
			for _, command := range common {
				want, _, wantCode := run(t, "bash", command)
				got, errors, code := run(t, shell, command)
				require.Equal(t, want, got, "%s: %s", command, errors)
				require.Equal(t, wantCode, code, "%s: %s", command, errors)
			}
		})
	}
}
