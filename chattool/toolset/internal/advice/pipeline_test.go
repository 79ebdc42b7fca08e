package advice_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/chattool/toolset/internal/script"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
)

// ofTail and of are the notes on pipelines whose exit code is a filter's.
func ofTail(command string) string {
	return of("tail", command) + " Leave tail out: execute itself keeps the beginning and the end of long output."
}

func of(filter, command string) string { return hides("exit_code", filter, command) }

func hides(what, filter, command string) string {
	return "Without pipefail, " + what + " is that of " + filter + " and does not tell whether `" + command + "` succeeded."
}

// left is the note on an exit code within the script, by the operator or the
// variable that goes by it.
func left(by, filter, command string) string {
	what := by
	if by != "$?" {
		what = "the exit code that " + by + " goes by"
	}
	return hides(what, filter, command) + " Leave " + filter + " out: execute itself keeps the beginning and the end of long output."
}

// Pipelines with the command probe in them, which a shell test lets succeed
// and fail, and what is said where they end with 0.
var pipelines = []struct {
	name, script string
	want         string
	bash         bool // dash reads it otherwise
}{
	{name: "tail", script: "probe | tail", want: ofTail("probe")},
	{name: "options and redirections", script: "probe ./... 2>&1 | tail -n 20 2>/dev/null", want: ofTail("probe ./...")},
	{name: "by a path", script: "probe | /usr/bin/tail", want: ofTail("probe")},
	{name: "several filters", script: "probe 2>&1 | grep -v x | sort | tail -5", want: ofTail("probe")},
	{name: "tee", script: "probe | tee /dev/null", want: of("tee", "probe")},
	{name: "head", script: "probe | head", want: of("head", "probe") + " Leave head out: execute itself keeps the beginning and the end of long output."},
	{name: "middle", script: "echo a | probe -x | wc -l", want: of("wc", "probe -x")},
	{name: "first of two", script: "probe a | probe b | tr a b", want: of("tr", "probe a")},
	{name: "after cd", script: "cd / && probe | tail", want: ofTail("probe")},
	{name: "after commands", script: "echo a\nfalse\nprobe | tail # b", want: ofTail("probe")},
	{name: "after an alternative", script: "false || true && probe | tail", want: ofTail("probe")},
	{name: "after set -e", script: "set -ex; probe | tail", want: ofTail("probe")},
	{name: "after command -v", script: "command -v sh; probe | tail", want: ofTail("probe")},
	{name: "after another pipeline", script: "probe a | wc -l; probe b | tail", want: ofTail("probe b")},
	{name: "group", script: "{ cd /; probe a; } | tail", want: ofTail("probe a")},
	{name: "subshell", script: "(cd / && probe) 2>&1 | tail", want: ofTail("probe")},
	{name: "loop", script: "for i in 1 2; do echo $i; probe $i; done | tail", want: ofTail("probe $i")},
	{name: "loop over lines", script: "seq 3 | while read -r i; do probe; done | sort", want: of("sort", "probe")},
	{name: "quoted", script: `probe 'a | b' "c" | tail`, want: ofTail(`probe 'a | b' "c"`)},
	{name: "long", script: "probe aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | tail", want: ofTail("probe")},
	{name: "substitution", script: "probe `echo a` | tail", want: ofTail("probe")},
	{name: "assignment", script: "A=1 probe | LC_ALL=C tail", want: ofTail("probe")},
	{name: "environment", script: "env A=1 probe | tail", want: ofTail("env A=1 probe")},
	{name: "here-document", script: "probe <<EOF | tail\na | b\nEOF", want: ofTail("probe")},
	{name: "timed", script: "time probe | tail", want: ofTail("probe"), bash: true},
	{name: "stderr too", script: "probe |& tail", want: ofTail("probe"), bash: true},
	{name: "function before that is not called", script: "f() { echo a; }; probe | tail"},

	{name: "left of &&", script: "probe ./... 2>&1 | head -20 && echo OK", want: left("&&", "head", "probe ./...")},
	{name: "echo after", script: "probe | tail && echo a", want: left("&&", "tail", "probe")},
	{name: "left of && after cd", script: "cd / && probe | tail -3 && echo OK", want: left("&&", "tail", "probe")},
	{name: "left of && after cd on a line before", script: "cd /\nprobe | tail -3 && echo OK", want: left("&&", "tail", "probe")},
	{name: "left of && in the middle", script: "true && probe | tail && echo a && echo b", want: left("&&", "tail", "probe")},
	{name: "left of && before the end", script: "A=1 && probe | sort && echo OK; echo done", want: hides("the exit code that && goes by", "sort", "probe")},
	{name: "left of ||", script: "probe | tail || echo FAILED", want: left("||", "tail", "probe")},
	{name: "left of || exit", script: "probe 2>&1 | tail -5 || exit 1; echo deployed", want: left("||", "tail", "probe")},
	{name: "before $?", script: `probe | tail -2; echo "exit: $?"`, want: left("$?", "tail", "probe")},
	{name: "before ${?}", script: "probe | tail -2\necho ${?}", want: left("$?", "tail", "probe")},
	{name: "before $? after cd", script: "cd / && probe 2>&1 | tee /dev/null; echo $?", want: hides("$?", "tee", "probe")},
	{name: "before $? of an assignment", script: "probe | tail; code=$?; echo code $code", want: left("$?", "tail", "probe")},
	{name: "before $? of an if", script: "probe | tail; if [ $? -eq 0 ]; then echo OK; fi", want: left("$?", "tail", "probe")},
	{name: "before $? of a test", script: "probe | tail; [ $? = 0 ] && echo OK", want: left("$?", "tail", "probe")},
	{name: "before $? of bash's test", script: "probe | tail; if [[ $? -eq 0 ]]; then echo OK; fi", want: left("$?", "tail", "probe"), bash: true},
	{name: "before $? of a case", script: "probe | tail; case $? in 0) echo OK ;; esac", want: left("$?", "tail", "probe")},
	{name: "before $? of grep", script: "probe | grep -c nothing; echo $?", want: hides("$?", "grep", "probe")},
	{name: "timed, before $?", script: "time probe | tail; echo $?", want: left("$?", "tail", "probe"), bash: true},

	{name: "no pipeline", script: "probe"},
	{name: "no pipeline left of &&", script: "probe && echo OK; ls | head"},
	{name: "producers left of &&", script: "ls | head && echo OK"},
	{name: "grep left of &&", script: "probe | grep probe && echo found"},
	{name: "grep -q before $?", script: "probe | grep -q probe; echo $?"},
	{name: "harmless ||", script: "probe | tail || :"},
	{name: "$? of something between", script: "probe | tail; echo a; echo $?"},
	{name: "$? of something between in a list", script: "probe | tail; true && echo $?"},
	{name: "$? of a substitution", script: "probe | tail; x=$(false; echo $?); echo $x"},
	{name: "$? in quotes", script: "probe | tail; echo '$?'"},
	{name: "left of && in the background", script: "probe | tail && echo a & wait"},
	{name: "after an alternative, before $?", script: "true || probe | tail; echo $?"},
	{name: "after an exit, left of &&", script: "probe || exit 0; probe | tail && echo OK"},
	{name: "in a branch", script: "if false; then probe | tail && echo OK; fi"},
	{name: "pipefail, left of &&", script: "set -o pipefail; probe | tail && echo OK", bash: true},
	{name: "PIPESTATUS before $?", script: "probe | tail; echo ${PIPESTATUS[0]}; echo $?", bash: true},
	{name: "producers", script: "ls -l | sort | head"},
	{name: "only prints", script: "printf 'a\\n' | tail"},
	{name: "git log", script: "git -C / --no-pager log 2>/dev/null | head"},
	{name: "help", script: "probe sub --help | head"},
	{name: "last is no filter", script: "echo a | probe"},
	{name: "last is a loop", script: "probe | while read -r a; do echo $a; done"},
	{name: "another command after", script: "probe | tail; true"},
	{name: "alternative before", script: "probe || probe | tail"},
	{name: "alternative after", script: "probe | tail || true"},
	{name: "in the background", script: "probe | tail & wait"},
	{name: "condition", script: "if probe | tail; then echo a; fi"},
	{name: "within quotes", script: "echo 'probe | tail'"},
	{name: "within a comment", script: "probe # | tail"},
	{name: "within a here-document", script: "cat <<EOF\nprobe | tail\nEOF"},
	{name: "within a function", script: "f() { probe | tail; }"},
	{name: "within a substitution", script: "echo $(probe | tail)"},
	{name: "exit before", script: "probe && exit; probe | tail"},
	{name: "exit in a condition before", script: "if true; then exit 0; fi; probe | tail"},
	{name: "exec before", script: "exec true; probe | tail"},
	{name: "trap", script: "trap 'exit 0' EXIT; probe | tail"},
	{name: "opaque command before", script: "X=exit; $X; probe | tail"},
	{name: "pipefail", script: "set -o pipefail; probe | tail", bash: true},
	{name: "pipefail among others", script: "set -euo pipefail; probe | tail", bash: true},
	{name: "pipefail on a line before", script: "set -o pipefail\ncd / && probe | tail", bash: true},
	{name: "pipefail by shopt", script: "shopt -so pipefail; probe | tail", bash: true},
	{name: "pipefail of another shell", script: "bash -o pipefail -c 'probe | tail'", bash: true},
	{name: "PIPESTATUS", script: "probe | tail; exit ${PIPESTATUS[0]}", bash: true},
	{name: "not valid", script: "probe | tail |"},
}

func TestPipeline(t *testing.T) {
	t.Parallel()
	for _, tt := range pipelines {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, noteOn(tt.script, 0, "x"))
			require.Empty(t, noteOn(tt.script, 2, "x"), "another exit code may be of another command")
		})
	}
	t.Run("negated", func(t *testing.T) {
		t.Parallel()
		require.Empty(t, noteOn("! probe | tail", 0, ""))
		require.Empty(t, noteOn("! probe | tail", 1, ""))
	})
	t.Run("only asked whether there is a match", func(t *testing.T) {
		t.Parallel()
		require.Empty(t, noteOn("probe | grep -q x", 0, ""))
		require.Equal(t, of("grep", "probe"), noteOn("probe | grep x", 0, "x"))
	})
	t.Run("a cd that has failed", func(t *testing.T) {
		t.Parallel()
		for _, script := range []string{"cd x && probe | tail; echo $?", "cd x && probe | tail && echo OK; echo done"} {
			require.NotEmpty(t, noteOn(script, 0, "ok\n"), script)
			require.Empty(t, noteOn(script, 0, "bash: line 1: cd: x: No such file or directory\n2\n"), script)
			r := exited(script, 0, "…")
			r.Output.Truncated = &headtail.Truncation{OriginalBytes: 9, OmittedBytes: 8}
			require.Empty(t, advice.Notes(r), "what is left out may be its error")
		}
	})
	t.Run("not known to be the shell's own end", func(t *testing.T) {
		t.Parallel()
		r := exited("probe | tail", 0, "")
		r.Output.Process.EndedBy = procmgr.CauseRequest
		require.Empty(t, advice.Notes(r))
	})
	t.Run("read afterwards", func(t *testing.T) {
		t.Parallel()
		r := exited("probe | tail", 0, "x")
		r.Reading = true
		require.Equal(t, ofTail("probe"), noteOf(r))
	})
}

const (
	noLine     = "exit_code 1 is how grep says that no line was selected"
	noLinePipe = "Without pipefail, " + noLine
)

func TestNoLineSelected(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, script, output, want string }{
		{"grep", "grep -rn x .", "", noLine + "."},
		{"grep after cd", "cd sub && grep x f", "", noLine + "."},
		{"grep on the next line", "echo ---\ngrep x f", "---\n", noLine + "."},
		{"grep on the line after cd", "cd sub\ngrep x f", "", noLine + "."},
		{"after cd that may have failed", "cd sub\ngrep x f", "cd: sub: no such directory\n", ""},
		{"end of a pipeline", "probe ./... 2>&1 | grep FAIL", "", noLinePipe + "; it does not tell whether `probe ./...` succeeded."},
		{"behind a producer", "cat f | grep x", "", noLinePipe + "."},
		{"rg", "rg x", "", "exit_code 1 is how rg says that no line was selected."},
		{"cd that may have failed", "cd sub && grep x f", "cd: sub: no such directory\n", ""},
		{"anything before that may have failed", "test -f f && grep x f", "", ""},
		{"set -e before", "set -e; probe; grep x f", "", ""},
		{"something before", "probe; grep x f", "", ""},
		{"something after", "grep x f; probe", "", ""},
		{"alternative", "grep x f || grep y f", "", ""},
		{"redirected from a file", "grep x < f", "", ""},
		{"redirected to a file", "grep x f > g", "", ""},
		{"redirected to nowhere", "grep x f 2>/dev/null", "", noLine + "."},
		{"files without a match", "grep -rL x .", "", ""},
		{"an expansion that may fail", "grep $((1/0)) f", "", ""},
		{"another filter", "probe | jq .", "", ""},
		{"quoted", "echo 'a | grep x'; false", "", ""},
		{"not called", "probe grep", "", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, tt.want, noteOn(tt.script, 1, tt.output))
			require.Empty(t, noteOn(tt.script, 2, tt.output))
		})
	}
}

// Real shells have the last word: where it is said that the exit code does not
// tell about probe, it is the same whether probe succeeds or fails.
func TestHeldPipelineAgainstShells(t *testing.T) {
	testenv.Held(t)
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("the probe is a script")
	}
	bin := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(bin, "probe"), []byte("#!/bin/sh\necho probe\nexit $PROBE\n"), 0o700)) //nolint:gosec // a program
	for _, shell := range []string{"dash", "bash"} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			testenv.Programs(t, shell)
			run := func(script, probe string) (code int, output string) {
				cmd := exec.Command(shell, "-c", script)
				cmd.Dir = t.TempDir()
				cmd.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "PROBE="+probe)
				out, err := cmd.CombinedOutput()
				if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
					return exit.ExitCode(), string(out)
				}
				require.NoError(t, err)
				return 0, string(out)
			}
			for _, tt := range pipelines {
				if tt.want == "" || tt.bash && shell != "bash" {
					continue
				}
				_, first := run(tt.script, "0")
				for _, probe := range []string{"0", "1", "3"} {
					code, output := run(tt.script, probe)
					require.Zero(t, code, tt.name)
					require.Equal(t, tt.want, noteOn(tt.script, code, output), tt.name)
					if !strings.Contains(tt.want, "exit_code") && !strings.Contains(tt.script, "time ") {
						require.Equal(t, first, output, "%s: the script tells it", tt.name)
					}
				}
			}
			for _, script := range []string{"probe | grep nothing", "echo; probe | grep nothing", "cd / && probe 2>/dev/null | grep nothing", "A=1; grep nothing /dev/null"} {
				for _, probe := range []string{"0", "1", "3"} {
					code, output := run(script, probe)
					require.Equal(t, 1, code, script)
					require.Contains(t, noteOn(script, code, output), noLine, script)
				}
			}
			if shell != "bash" {
				return
			}
			for _, script := range []string{"set -o pipefail; probe | tail", "set -euo pipefail; probe | tail", "shopt -so pipefail; probe | tail", "probe | tail; exit ${PIPESTATUS[0]}"} {
				code, _ := run(script, "3")
				require.Equal(t, 3, code, script)
			}
		})
	}
}

func FuzzAdvice(f *testing.F) {
	for _, p := range pipelines {
		f.Add(p.script, 0, "x\n")
	}
	for _, b := range bashisms {
		f.Add(b.script, 0, "")
	}
	f.Add("until curl x; do sleep 1; done", 1, "")
	f.Add("timeout 5 sh -c 'while :; do sleep 1; done'", 124, "")
	f.Add("npm init", 137, "name: (x) ")
	f.Add("npm init < f", 127, "ok? [y/N] ")
	f.Fuzz(func(t *testing.T, command string, code int, output string) {
		for _, r := range []advice.Result{exited(command, code, output), running(command, output)} {
			for _, shell := range []string{"bash", "sh", "ash", "zsh"} {
				r.Command = &script.Source{Text: command, Shell: shell}
				for _, reading := range []bool{false, true} {
					r.Reading = reading
					if note := noteOf(r); len(note) > 600 {
						t.Fatalf("%d bytes: %s", len(note), note)
					}
				}
			}
		}
	})
}
