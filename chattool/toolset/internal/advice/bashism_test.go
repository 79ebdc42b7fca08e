package advice_test

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/internal/testenv"
)

// bashisms are scripts that bash runs otherwise than dash, which prints no error.
// ash says that the shell of BusyBox does as bash does, or prints an error.
var bashisms = []struct {
	name   string // as a note has it
	script string
	ash    bool
}{
	{name: "&>", script: "false &>/dev/null && echo PASS", ash: true},
	{name: "&>>", script: "false &>>log && echo PASS", ash: true},
	{name: "$'…'", script: `printf '%s\n' $'a\tb'`, ash: true},
	{name: "{1..3}", script: "for i in {1..3}; do echo $i; done"},
	{name: "{1..3}", script: "touch f{1..3}; ls"},
	{name: "{a,b}", script: "mkdir -p src/{a,b} && ls src"},
	{name: "echo -e", script: `echo -e "a\tb"`, ash: true},
	{name: "echo -ne", script: `echo -ne 'a\tb'`, ash: true},
	{name: `echo \n`, script: `echo '{"text": "a\nb"}'`, ash: true},
	{name: "$RANDOM", script: "echo ${RANDOM:+random}", ash: true},
	{name: "$UID", script: `echo "${UID:+set}"`},
	{name: "$SECONDS", script: `echo "${SECONDS:+set}"`},
	{name: "$EPOCHSECONDS", script: `echo "${EPOCHSECONDS:+set}"`, ash: true},
	{name: "$(<FILE)", script: "echo word > f; x=$(<f); echo $x"},
	{name: "$[ ]", script: "echo $[1 + 2]"},
	{name: `printf \x`, script: `printf '\x41\n'`, ash: true},
	{name: `printf \u`, script: `printf '\u00e9\n'`},
	{name: `$"…"`, script: `echo $"hi"`},
	{name: "{fd}>", script: "echo a {fd}>f; cat f"},
}

// loud are bashisms for which other shells print an error, so that no note has to
// tell of them.
var loud = []string{
	"if [[ -d / ]]; then echo yes; else echo no; fi", "x=5; if ((x > 1)); then echo big; fi; ls", "cat <<< hi", "cat <(echo hi)", "ls /nowhere |& wc -l",
	"a=(1 2); echo ${a[1]}", "x=aXa; echo ${x//a/b}", "x=abcd; echo ${x:1:2}", "function f { echo hi; }; f", "echo v=1 > f; source ./f; echo $v", "[ a == a ] && echo yes",
	"let x=1+1; echo $x", "x=a; x+=b; echo $x", "for ((i = 0; i < 2; i++)); do echo $i; done", "echo a >& f; cat f", "x=abc; echo ${x^^}", "x=y; y=1; echo ${!x}",
	"a[0]=1; echo $?", "select x in a b; do break; done </dev/null; echo $?", "case a in a) echo 1 ;;& *) echo 2 ;; esac", "declare x=1; echo $x", "echo $((2 ** 3))",
	"x=1; echo $((x++)) $x", "shopt -s nullglob; echo *.none", "mapfile -t a </dev/null; echo $?", "echo abc | { read -n 1 x; echo $x; }",
	"printf '%q\\n' 'a b'", "[ -v HOME ] && echo yes", "true & wait -n; echo $?", "f() { echo; }; export -f f; echo $?",
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
			for _, shell := range []string{"sh", "dash"} {
				require.Contains(t, bashismIn(shell, tt.script, 0, ""), "`"+tt.name, tt.script)
			}
			require.Equal(t, tt.ash, bashismIn("ash", tt.script, 0, "") == "", "%s: %s", tt.script, bashismIn("ash", tt.script, 0, ""))
			for _, shell := range []string{"", "bash", "zsh", "ksh", "fish", "cmd"} {
				require.Empty(t, bashismIn(shell, tt.script, 0, ""), shell)
			}
			r := exited(tt.script, 0, "")
			r.Command, r.Reading = &script.Source{Text: tt.script, Shell: "sh"}, true
			require.NotContains(t, noteOf(r), "not bash", "the result of execute has said it")
		})
	}
	for _, command := range slices.Concat(common, loud) {
		require.Empty(t, bashismIn("sh", command, 0, ""), command)
	}
}

func TestBashismNote(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, script, want string }{
		{"one", "make &>log",
			"The shell is sh, not bash. In it, `&>` runs the command in the background, empties the file and succeeds; write >FILE 2>&1."},
		{"what prints an error is left out", "[[ -d x ]] || mkdir -p x/{a,b} &> log",
			"The shell is sh, not bash. In it, `{a,b}` stays as it is; write each word out. Also bash's: `&>`."},
		{"many", "echo $UID {a,b} $'c' $[1] $SECONDS",
			"The shell is sh, not bash. In it, `{a,b}` stays as it is; write each word out. Also bash's: `$UID`, `$'…'`, `$[ ]`."},
		{"none in a printf", "printf -v x %s a", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, bashismIn("sh", tt.script, 0, ""))
		})
	}
	t.Run("of BusyBox alone", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "The shell is ash, not bash. In it, `printf -v` prints -v; write NAME=$(printf …).", bashismIn("ash", "printf -v x %s a", 0, "-v"))
	})
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
		r := exited("./server &>log", 1, "no port")
		r.Command.Shell, r.Reading = "sh", true
		require.Contains(t, noteOf(r), "`&>`")
	})
	t.Run("a long script", func(t *testing.T) {
		t.Parallel()
		require.Empty(t, bashismIn("sh", "make &>log #"+strings.Repeat("x", 20<<10), 0, ""))
	})
}

// The shells have the last word: what is called a bashism gives something else
// in them than in bash, without an error, and what is not does not.
func TestHeldBashismsAgainstShells(t *testing.T) {
	testenv.Held(t)
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
			for _, tt := range bashisms {
				want, _, wantCode := run(t, "bash", tt.script)
				got, errors, code := run(t, shell, tt.script)
				same := want == got && wantCode == code
				if shell == "ash" {
					// How much BusyBox takes from bash is decided when it is
					// built: it may know more than is said of it.
					if tt.ash {
						require.True(t, same || errors != "", "%s: %q %d, in bash %q %d", tt.script, got, code, want, wantCode)
					}
					continue
				}
				require.False(t, same, "%s is no bashism: %q %d", tt.script, got, code)
				require.True(t, errors == "" && code == 0, "%s: %d %q", tt.script, code, errors)
			}
			for _, script := range loud {
				want, _, wantCode := run(t, "bash", script)
				got, errors, code := run(t, shell, script)
				same := want == got && wantCode == code
				require.True(t, same || errors != "" || code != 0, "%s: %q, in bash %q", script, got, want)
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
