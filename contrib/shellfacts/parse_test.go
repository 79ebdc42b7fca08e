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
	"github.com/toolproc/toolproc/contrib/shellfacts"
)

// A policy that asks about most commands is turned off.
func TestEverydayCommands(t *testing.T) {
	t.Parallel()
	complete := 0
	all := commands(t, "everyday.tsv") // as models write them
	for _, command := range all {
		facts := shellfacts.Parse(command, "bash")
		if facts.Complete {
			require.NotEmpty(t, facts.Programs)
			complete++
		} else {
			t.Logf("%s: %q", command, facts.Why)
		}
	}
	t.Logf("%d of %d are complete", complete, len(all))
	require.GreaterOrEqual(t, complete, 196, "of 225")
}

// None of these may be taken for something that is known.
func TestRefused(t *testing.T) {
	t.Parallel()
	refused := commands(t, "refused.tsv")
	require.Greater(t, len(refused), 84)
	for _, command := range refused {
		for _, shell := range []string{"bash", "dash", "sh"} {
			facts := shellfacts.Parse(command, shell)
			require.False(t, facts.Complete, "%s in %s: %+v", command, shell, facts)
			require.NotEmpty(t, facts.Why)
		}
	}
}

// Each part of the allowed syntax, and what is next to it and not allowed.
func TestSyntax(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ allowed, refused string }{
		{`echo 'a' "b" c\ d "$HOME" "${HOME}" $1`, `echo "$(date)"`},
		{`echo "a$" $? "\$(x)"`, `echo "${x:-a}"`},
		{`ls *.go [a-c]? {a,b} ~ ~/x`, "ls `pwd`"},
		{`ls | wc -l && true || false; ls & wait $!`, `ls |& wc`},
		{`! grep -q x f`, `! ! ls`},
		{`{ ls; (cd a && ls); } > out`, `f() { ls; }`},
		{`if [ -f a ]; then ls; elif test "$x" = y; then :; else pwd; fi`, `if [[ -f a ]]; then ls; fi`},
		{`for f in *.go; do echo "$f"; done`, `for F in *.go; do echo "$F"; done`},
		{`while ! curl -s x; do sleep 1; done < f`, `while read -r l; do echo "$l"; done < f`},
		{`ls 2>&1 1>&2 >&2 > a 2>> b < c`, `ls 3> a`},
		{`ls > a`, `ls > "$a"`},
		{"cat <<'EOF' | wc\n$(x)\nEOF\nls", "cat <<EOF\nx\nEOF"},
		{"cat <<\"E\"\nE", "cat <<'E'\nx"}, {`ls`, "cat <<-\"E\"\n\tE"},
		{`ls > /dev/null`, `ls > /dev/stderr`},
		{"(echo 'a'# b\n)", "cat <<'E'# ; touch P\nx\nE"}, // # begins no comment within a word
		{`cat sys/dev/x`, `cat /proc/1/environ`},
		{`cd a && ls`, `cd a; ls`},
		{`cd a && ls`, `cd a || exit 1; ls`},
		{`(cd a && ls); ls`, `ls; cd a && ls`},
		{`cd a/b && ls`, `cd "$a" && ls`},
		{`printf '%s\n' a`, `printf '%n' PATH`},
		{`test -n "$a"`, `test -v a`},
		{`exit 1`, `exit 1 > f`},
		{`sh -c 'ls | wc'`, `sh -c 'echo \$x'`},
		{"ls \\\n  -l # all", "ls\\\n-l"},
		{`time go test`, `time -p go test`},
		{`sh -c ''`, `sh -c`}, {`bash -lc 'ls'`, `bash -ic 'ls'`}, {`bash --version`, `bash +x f`}, {`bash f.sh a`, `bash "$f"`}, {`python3 -m pytest -q`, `python3 -m json.tool`}, {`python3 x.py -v --verbose`, `python3 -z x.py`}, {`python3 x.py`, `python3 -`},
		{`ss -tlnp`, `ss -tK`}, {`lsof -nP -i :80`, `lsof -Dbx`}, {`netstat -tlnp`, `netstat -Z`}, {`tree -L 2`, `tree -R`}, {`tree -aL2 -o f`, `tree -Lo 2 f`}, {`tree -L 1`, `tree -oL f 2`}, {`tree -a -I x`, `tree -IR x`}, {`ls`, `nm --plug=x f`}, {`rg -n a`, `rg --pre x a`},
		{`ls | xargs -n 1 cat`, `ls | xargs -I{} -n 2 sort`}, {`ls | xargs cat`, `ls | xargs --replace --max-l=1 sort f`}, {`ls | xargs -r cat`, `ls | xargs -I{} cat {}`}, {`ls | xargs`, `ls | xargs -I "$v" sort f`},
		{`sed -n '/[]x]/p' f`, `sed '/[]/p;s/]/w sub/g' f`}, {`sed 's/[^]a]/x/' f`, `sed '/[^]/p;s/]/w sub/g' f`}, {`sed 's/[^a]*[b]/x/' f`, `sed 's|[]|x|p;s|]|w sub|g' f`},
		{`sed 's/[[:space:]]*$//' f`, `sed '/[[:x:]/p;s/]/w sub/g' f`}, {`sed 's/[^[:digit:]a]/x/g' f`, `sed '/[][:x:]/p;s/[^]/w sub/g' f`},
		{`find . -exec grep x f {} +`, `find . -exec grep x {} f + -exec touch f \;`}, {`ls`, `nm @f`}, {`ls`, `objdump -- @f`}, {`ls`, `setarch i686 touch f`}, {`ls`, `xxd -pc f g`}, {`chmod +x f`, `chmod -x f`}, {`date +%s`, `date 0101`}, {`sed -i s/x/y/ f`, `sed -i.bak s/x/y/ f`},
		{`cd ../.. && touch f`, `cd a/../b && touch f`}, {`cd a/../b && ls`, `(cd /a/../b && touch f)`}, {`cd .. && (cd ../a && touch f)`, `cd a && (cd ../b && touch f)`},
		{`rmdir a`, `rmdir -p a/b`},
		{`ls`, `X=1 ls`},
		{`env -u X ls`, `env X=1 ls`},
		{`ls`, `"ls"`}, {`ls`, `l\s`}, {`ls`, `$x`}, {`ls`, `export x`}, {`ls`, `((1))`}, {`ls`, `case a in a) ls;; esac`}, {`ls`, `a=(b)`}, {`ls`, `diff <(ls) f`}, {`ls`, `nm --plugin x f`},
	} {
		facts := shellfacts.Parse(test.allowed, "bash")
		require.True(t, facts.Complete, "%s: %q", test.allowed, facts.Why)
		facts = shellfacts.Parse(test.refused, "bash")
		require.False(t, facts.Complete, "%s: %+v", test.refused, facts)
	}
}

func TestFacts(t *testing.T) {
	t.Parallel()
	literal := func(name, path string) shellfacts.Path {
		return shellfacts.Path{Name: name, Literal: true, Path: path}
	}
	t.Run("programs", func(t *testing.T) {
		t.Parallel()
		facts := shellfacts.Parse("cd sub &&\nenv -i timeout 5 ./run \"$1\"; frob -x", "bash")
		require.True(t, facts.Complete, facts.Why)
		require.Equal(t, []shellfacts.Program{
			{Name: "cd", Args: []string{"sub"}, Literal: true, Known: true},
			{Name: "env", Args: []string{"-i", "timeout", "5", "./run", `"$1"`}, Known: true},
			{Name: "timeout", Args: []string{"5", "./run", `"$1"`}, Known: true, Through: []string{"env"}},
			{Name: "./run", Args: []string{`"$1"`}, Files: true, Through: []string{"env", "timeout"}},
			{Name: "frob", Args: []string{"-x"}, Literal: true},
		}, facts.Programs)
	})
	t.Run("paths", func(t *testing.T) {
		t.Parallel()
		facts := shellfacts.Parse("cd sub && sort -o out ../in; echo x >> /log", "bash")
		require.True(t, facts.Complete, facts.Why)
		require.Equal(t, []shellfacts.Path{literal("out", "sub/out"), {Name: "/log", Literal: true, Path: "/log"}}, facts.Writes)
		require.Equal(t, []shellfacts.Path{literal("../in", "sub/../in")}, facts.Reads)
		facts = shellfacts.Parse("cd sub && ls; touch f", "bash")
		require.Equal(t, []shellfacts.Path{{Name: "f", Literal: true}}, facts.Writes)
		require.False(t, facts.Complete)
		facts = shellfacts.Parse("cd .. && touch f", "bash")
		require.Equal(t, []shellfacts.Path{literal("f", "../f")}, facts.Writes)
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
			{"echo $((x))", "bash", false}, {"echo $((x))", "dash", false}, {"[[ a > f ]]", "bash", false}, {"diff <(ls) f", "dash", false},
		} {
			facts := shellfacts.Parse(test.command, test.shell)
			require.Equal(t, test.complete, facts.Complete, "%s in %s: %q", test.command, test.shell, facts.Why)
		}
		// To dash, this is a command in the background, and a redirection.
		require.False(t, shellfacts.Parse("ls &> f", "bash").Complete)
		require.False(t, shellfacts.Parse("touch a{b,c}", "sh").Complete)
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
		"a|", "a&&", "a||", "a;", "a&", ">a ", "a=1 ", "<<a ", "cat <<a\nx\na\n", "eval eval ", "env env ", "sh -c '", "timeout 1 ", "find . -exec ", "{a,", "$a", "''", "*", "sh -c ls;", "touch a{b,c};", "cat <<'a'\na\n",
	} {
		for _, n := range []int{50, 2_000, 64 << 10 / len(part)} {
			began := time.Now()
			facts := shellfacts.Parse(strings.Repeat(part, n), "sh")
			require.Less(t, time.Since(began), 10*time.Second, part)
			require.LessOrEqual(t, len(facts.Why), 10)
			require.LessOrEqual(t, len(facts.Programs), 1000)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, table := range []string{"everyday.tsv", "shell-bypasses.tsv", "refused.tsv"} {
		for _, command := range commands(f, table) {
			f.Add(command)
		}
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

// commands returns the first column of a table.
func commands(t testing.TB, name string) (all []string) {
	t.Helper()
	file, err := os.Open(filepath.Join("testdata", name))
	require.NoError(t, err)
	defer file.Close()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if line := lines.Text(); line != "" && !strings.HasPrefix(line, "#") {
			text, _, _ := strings.Cut(line, "\t")
			var command string
			require.NoError(t, json.Unmarshal([]byte(text), &command), line)
			all = append(all, command)
		}
	}
	require.NotEmpty(t, all)
	return all
}
