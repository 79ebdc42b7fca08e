package advice_test

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/internal/testenv"
)

// ofTail and of are the notes on pipelines whose exit code is a filter's.
func ofTail(command string) string {
	return of("tail", command) + " Leave tail out: execute itself keeps the beginning and the end of long output."
}

func of(filter, command string) string {
	return "Without pipefail, exit_code is that of " + filter + " and does not tell whether `" + command + "` succeeded."
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
	{name: "several filters", script: "probe 2>&1 | grep -v x | sort | tail -5", want: ofTail("probe")},
	{name: "head", script: "probe | head", want: of("head", "probe") + " Leave head out: execute itself keeps the beginning and the end of long output."},
	{name: "first of two", script: "probe a | probe b | tr a b", want: of("tr", "probe a")},
	{name: "after cd", script: "cd / && probe | tail", want: ofTail("probe")},
	{name: "after commands", script: "echo a\nfalse\nprobe | tail # b", want: ofTail("probe")},
	{name: "after set -e", script: "set -ex; probe | tail", want: ofTail("probe")},
	{name: "after command -v", script: "command -v sh; probe | tail", want: ofTail("probe")},
	{name: "group", script: "{ cd /; probe a; } | tail", want: ofTail("probe a")},
	{name: "loop", script: "for i in 1 2; do echo $i; probe $i; done | tail", want: ofTail("probe $i")},
	{name: "quoted", script: `probe 'a | b' "c" | tail`, want: ofTail(`probe 'a | b' "c"`)},
	{name: "long", script: "probe aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa | tail", want: ofTail("probe")},
	{name: "assignment", script: "A=1 probe | LC_ALL=C tail", want: ofTail("probe")},
	{name: "here-document", script: "probe <<EOF | tail\na | b\nEOF", want: ofTail("probe")},
	{name: "timed", script: "time probe | tail", want: ofTail("probe"), bash: true},
	{name: "function before that is not called", script: "f() { echo a; }; probe | tail"},

	{name: "no pipeline", script: "probe"},
	{name: "producers", script: "ls -l | sort | head"},
	{name: "git log", script: "git -C / --no-pager log 2>/dev/null | head"},
	{name: "help", script: "probe sub --help | head"},
	{name: "last is no filter", script: "echo a | probe"},
	{name: "another command after", script: "probe | tail; true"},
	{name: "alternative after", script: "probe | tail || true"},
	{name: "condition", script: "if probe | tail; then echo a; fi"},
	{name: "within a substitution", script: "echo $(probe | tail)"},
	{name: "exit in a condition before", script: "if true; then exit 0; fi; probe | tail"},
	{name: "trap", script: "trap 'exit 0' EXIT; probe | tail"},
	{name: "opaque command before", script: "X=exit; $X; probe | tail"},
	{name: "pipefail", script: "set -o pipefail; probe | tail", bash: true},
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
				for _, probe := range []string{"0", "1", "3"} {
					code, output := run(tt.script, probe)
					require.Zero(t, code, tt.name)
					require.Equal(t, tt.want, noteOn(tt.script, code, output), tt.name)
				}
			}
		})
	}
}
