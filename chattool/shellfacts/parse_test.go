package shellfacts_test

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/chattool/shellfacts"
	"github.com/toolproc/toolproc/internal/beside"
	"mvdan.cc/sh/v3/syntax"
)

// ordinary are commands as models write them. A policy that asks about most of them
// is turned off.
var ordinary = []string{
	"cd sub && go test ./... | tail",
	"grep -rn 'func main' --include=*.go .",
	"sed -n 1,40p main.go",
	"git status && git diff --stat",
	"ls -la",
	"cat a.txt | head -20",
	"find . -name '*.go' -not -path './vendor/*' | head -50",
	`find . -name "*.go" -exec grep -l foo {} +`,
	"npm test 2>&1 | tail -40",
	"python3 -m pytest tests/ -q",
	"make -j4 2>&1 | tail -n 20",
	"wc -l *.go && mkdir -p a/b && cp a.txt a/b/",
	`for f in *.go; do echo "$f"; done`,
	"sed -i 's/foo/bar/g' main.go",
	"awk '{print $1}' file.txt | sort | uniq -c | sort -rn | head",
	"if [ -f go.mod ]; then go vet ./...; else echo none; fi",
	"find . -type f | xargs grep -l TODO",
	"git add -A && git commit -m \"$(cat <<'EOF'\nfix: it's done\nEOF\n)\"",
	"cat > f.txt <<'EOF'\nhello $x\nEOF",
	"export FOO=bar && npm start > log 2>&1 &",
	"ps aux | grep node | grep -v grep",
	"curl -s https://example.com/api | jq '.items[]'",
	"timeout 60 go test -run TestX ./pkg/... -count=1",
	"while read -r line; do echo \"$line\"; done < f.txt",
	"for i in 1 2 3; do echo $((i*2)); done",
	"GOOS=linux go build -o /tmp/x . && ls -l /tmp/x",
	"chmod +x run.sh && ./run.sh",
	"du -sh * | sort -h; df -h",
}

func TestOrdinaryCommands(t *testing.T) {
	t.Parallel()
	asked := 0
	for _, command := range ordinary {
		facts := shellfacts.Parse(command, "bash")
		require.NotEmpty(t, facts.Programs)
		if !facts.Complete {
			t.Logf("%s: %q", command, facts.Why)
			asked++
		}
	}
	require.LessOrEqual(t, asked, 1)
}

func TestFacts(t *testing.T) {
	t.Parallel()
	literal := func(name, path string) shellfacts.Path {
		return shellfacts.Path{Name: name, Literal: true, Path: path}
	}
	t.Run("programs", func(t *testing.T) {
		t.Parallel()
		facts := shellfacts.Parse("cd sub &&\nenv X=1 timeout 5 ./run \"$1\"; frob -x", "bash")
		require.True(t, facts.Complete, facts.Why)
		require.Equal(t, []shellfacts.Program{
			{Name: "cd", Args: []string{"sub"}, Literal: true, Known: true, Line: 1},
			{Name: "env", Args: []string{"X=1", "timeout", "5", "./run", `"$1"`}, Known: true, Line: 2},
			{Name: "timeout", Args: []string{"5", "./run", `"$1"`}, Known: true, Through: []string{"env"}, Line: 2},
			{Name: "./run", Args: []string{`"$1"`}, Files: true, Through: []string{"env", "timeout"}, Line: 2},
			{Name: "frob", Args: []string{"-x"}, Literal: true, Line: 2},
		}, facts.Programs)
	})
	t.Run("paths", func(t *testing.T) {
		t.Parallel()
		facts := shellfacts.Parse("cd sub && sort -o out ../in; echo x >> /log", "bash")
		require.True(t, facts.Complete, facts.Why)
		require.Equal(t, []shellfacts.Path{literal("out", "sub/out"), {Name: "/log", Literal: true, Path: "/log", Append: true}}, facts.Writes)
		require.Equal(t, []shellfacts.Path{literal("../in", "sub/../in")}, facts.Reads)
		facts = shellfacts.Parse("cd sub; touch f", "bash")
		require.Equal(t, []shellfacts.Path{literal("f", "sub/f"), literal("f", "f")}, facts.Writes)
		facts = shellfacts.Parse(`touch "$1"`, "bash")
		require.False(t, facts.Complete)
		require.Equal(t, []shellfacts.Path{{Name: `"$1"`}}, facts.Writes)
	})
	t.Run("dialects", func(t *testing.T) {
		t.Parallel()
		for _, test := range []struct {
			command, shell string
			complete       bool
		}{
			{"ls", "bash", true}, {"ls", "sh", true}, {"ls", "dash", true}, {"ls", "ash", true},
			{"ls", "", false}, {"ls", "zsh", false}, {"ls", "fish", false}, {"ls", "cmd", false}, {"ls", "busybox", false},
			{"echo $((x))", "bash", false}, {"echo $((x))", "dash", true}, {"echo $((x))", "sh", false},
			{"[[ a > f ]]", "bash", true}, {"diff <(ls) f", "dash", false},
		} {
			facts := shellfacts.Parse(test.command, test.shell)
			require.Equal(t, test.complete, facts.Complete, "%s in %s: %q", test.command, test.shell, facts.Why)
		}
		// To dash, > is a redirection, and [[ is a program.
		require.Equal(t, []shellfacts.Path{literal("f", "f")}, shellfacts.Parse("[[ a > f ]]", "dash").Writes)
		require.Equal(t, []shellfacts.Path{literal("f", "f")}, shellfacts.Parse("[[ a > f ]]", "sh").Writes)
	})
	t.Run("unreadable", func(t *testing.T) {
		t.Parallel()
		for _, command := range []string{
			"ls\r\ntouch f", "l\x00s", "ls \xff", "ls\u00a0-l", "ls \u202e", "ec\\\nho", "echo 'x", "if ls", "ls\n;; ls", "cat <<EOF\nx", "echo a # \\\nls", "ls &&& ls\nls",
			strings.Repeat("x", 65<<10), "f() { :; } | ls; f",
		} {
			facts := shellfacts.Parse(command, "bash")
			require.False(t, facts.Complete, "%.40q", command)
			require.NotEmpty(t, facts.Why)
		}
	})
}

// Whatever nests or repeats is bounded in time, and in how much it says.
func TestBounds(t *testing.T) {
	t.Parallel()
	for _, part := range []string{
		"(", "{ ", "$(", "`", "\"$(", "if ", "while ", "for i in a; do ", "case x in a) ", "f() { ", "((", "$((", "[[ ( ", "${a:-", "a=(", "! ", "time ", "coproc ", "<(",
		"a|", "a&&", "a||", "a;", "a&", ">a ", "a=1 ", "<<a ", "cat <<a\nx\na\n", "eval eval ", "env env ", "sh -c '", "timeout 1 ", "find . -exec ", "{a,", "$a", "''", "*",
	} {
		for _, n := range []int{50, 2_000, 64 << 10 / len(part)} {
			began := time.Now()
			facts := shellfacts.Parse(strings.Repeat(part, n), "sh")
			require.Less(t, time.Since(began), 20*time.Second, part)
			require.LessOrEqual(t, len(facts.Why), 10)
			require.LessOrEqual(t, len(facts.Programs), 4000)
		}
	}
	twice := "f0() { ls; }\n"
	for i := range 30 {
		twice += "f" + string(rune('A'+i)) + "() { f" + string(rune('A'+i-1)) + "; f" + string(rune('A'+i-1)) + "; }\n"
	}
	facts := shellfacts.Parse(strings.Replace(twice, "f@", "f0", 2)+"f"+string(rune('A'+29)), "bash")
	require.False(t, facts.Complete)
	require.LessOrEqual(t, len(facts.Programs), 4000)
}

func FuzzParse(f *testing.F) {
	for _, command := range ordinary {
		f.Add(command)
	}
	for _, r := range rows(f, "shell-bypasses.tsv") {
		f.Add(r.command)
	}
	f.Fuzz(func(t *testing.T, command string) {
		for _, shell := range []string{"bash", "dash", "sh", ""} {
			facts := shellfacts.Parse(command, shell)
			if facts.Complete != (len(facts.Why) == 0) {
				t.Fatalf("%q: Complete is %v, and why is %q", command, facts.Complete, facts.Why)
			}
			for _, p := range facts.Writes {
				if facts.Complete && (!p.Literal || p.Path == "") {
					t.Fatalf("%q: complete, and %+v is written", command, p)
				}
			}
			// What is put behind a command is seen, unless the rest hides it.
			more := shellfacts.Parse(command+"\n: > behind-it", shell)
			if more.Complete && facts.Complete && len(more.Programs) < len(facts.Programs) {
				t.Fatalf("%q: more text runs less", command)
			}
		}
	})
}

// Parse of an ordinary command, beside the parser alone.
func BenchmarkParse(b *testing.B) {
	const command = "cd sub && go test ./... 2>&1 | tail -n 20 > out.txt"
	call := beside.Short(b, "x-parser", func() { shellfacts.Parse(command, "bash") }, func() {
		_, _ = syntax.NewParser().Parse(strings.NewReader(command), "")
	})
	if b.N > 100 && call > 100_000 { // a single call finds the caches cold
		b.Errorf("Parse took %.0f ns, and 100 µs are its limit", call)
	}
}

// A row is a line of a table of commands.
type row struct{ command, does, ran string }

func rows(t testing.TB, name string) []row {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	require.NoError(t, err)
	defer file.Close()
	var all []row
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "#") {
			fields := strings.Split(line, "\t")
			r := row{}
			require.NoError(t, json.Unmarshal([]byte(fields[0]), &r.command), line)
			if len(fields) > 2 {
				r.does, r.ran = fields[1], fields[2]
			}
			all = append(all, r)
		}
	}
	require.NotEmpty(t, all)
	return all
}
