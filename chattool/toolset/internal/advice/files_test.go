package advice_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
)

const readFile = "To read files use the view tool: it shows more of a file and costs less."

func TestDumpsFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		want bool
		all  []string
	}{
		{"prints files", true, []string{
			"cat f", "cat a b", "cat -n f", `cat "$F"`, "cat 'a b'", "cat ${DIR}/f", "cat *.go",
			"head f", "head -n 500 f", "head -n500 f", "head -500 f", "head --lines=5 f", "head --lines 5 f", "head -c 100 f",
			"tail f", "tail -n +5 f", "tail -20 f", "tail -c 5 f", "tail -n 5 a b",
			"sed -n 1,200p f", "sed -n '1,200p' f", `sed -n "1,200p" f`, "sed -n '5p' f", "sed -n '1,$p' f", "sed -n -e 1,5p f",
			"sed -ne 1,5p f", "sed -n '1,5p;9p' f", "sed -n '1,5p;6q' f", "sed -n 1,+5p f",
			"bat f", "bat -l go f", "bat --style=plain f", "bat -r 1:20 f", "batcat f", "less f", "more f", "nl -ba f", "nl -b a f",
			"cd x && cat f", "cd x; cat f", "cat a; cat b", "cat a && head b", "cat f # the file", "cat f 2>/dev/null", "cat f 2>&1", "cat f\n",
		}},
		{"does not", false, []string{
			"", "cat", "head", "head -n 5", "tail -n", "sed -n 1,5p", "less", "cat -", "cat a -", "cat /dev/stdin", "cat --",
			"concatenate f", "catalog", "echo cat f", "./cat f", "sudo cat f", "x=cat; $x f", "cd x",
			"cat > f", "cat a > b", "cat a >> b", "cat a >&2", "cat < f", "cat f <<< x", "cat > f <<EOF\na\nEOF", "cat f <<EOF\na\nEOF", "cat f &>x", "cat f 2>err >out",
			"cat f | grep x", "head f | wc -l", "cat f || true", "cat f; make", "make && cat f", "! cat f", "(cat f)", "cat f &", "A=1 cat f",
			"cat /proc/cpuinfo", "cat /proc/self/status /etc/hosts", "head -n 5 /proc/meminfo", "cat /sys/class/net/lo/mtu", "cd /proc && cat version", "cd /sys/class/net; cat lo/mtu", "tail -n 3 /dev/shm/f",
			"cat -A f", "cat -vet f", "cat -E f", "cat --show-all f", "cat -nT f",
			"cat $(ls)", "cat `ls`", "cat <(ls)", "cat f; echo ---", "if true; then cat f; fi", "cat 'f", "f() { cat f; }",
			"tail -f f", "tail -F f", "tail -fn 5 f", "tail -n 5 -f f", "tail --follow f", "tail --follow=name f", "tail --retry f", "tail -qf f", "less +F f", "tail -f -n 5 f",
			"sed -i 1,5p f", "sed -n -i 1,5p f", "sed -ni 1,5p f", "sed -n --in-place 1,5p f", "sed 1,5p f", "sed s/a/b/ f", "sed -n s/a/b/p f", "sed -n /a/p f", "sed -n 1,5w f", "sed -n -f script f", "sed -n '1,5p;w x' f", `sed -n "${A}p" f`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, command := range tt.all {
				require.Equal(t, tt.want, strings.Contains(noteOn(command, 0, ""), readFile), command)
			}
		})
	}
	require.Empty(t, noteOn("cat "+strings.Repeat("f", 64<<10), 0, ""))
}

// With the tool's arguments known, the note has the call that reads the same.
func TestDumpCall(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ command, dir, want string }{
		{command: "cat main.go", want: `{"path":"main.go"}`},
		{command: "sed -n 120,160p main.go", want: `{"path":"main.go","offset":120}`},
		{command: "sed -n '120,$p' 'a b.go'", want: `{"path":"a b.go","offset":120}`},
		{command: "sed -n 5p f", want: `{"path":"f","offset":5}`},
		{command: "head -n 50 f", want: `{"path":"f"}`},
		{command: "head -50 f", want: `{"path":"f"}`},
		{command: "tail -n 20 f", want: `{"path":"f","offset":-20}`},
		{command: "tail -20 f", want: `{"path":"f","offset":-20}`},
		{command: "tail f", want: `{"path":"f","offset":-10}`},
		{command: "tail -n +120 f", want: `{"path":"f","offset":120}`},
		{command: "tail --lines=+7 f", want: `{"path":"f","offset":7}`},
		{command: "cd src && cat -n main.go", want: `{"path":"src/main.go"}`},
		{command: "cat main.go", dir: "/srv", want: `{"path":"/srv/main.go"}`},
		{command: "cd src && cat main.go", dir: "/srv", want: `{"path":"/srv/src/main.go"}`},
		{command: "cat /etc/hosts", dir: "/srv", want: `{"path":"/etc/hosts"}`},
		{command: "cat a b"},
		{command: "cat a && cat b"},
		{command: "cat a; cd x && cat b"},
		{command: "head -c 50 f"},
		{command: "sed -n -e 5p -e 9p f"},
		{command: "cat $F"},
	} {
		r := exited(tt.command, 0, "x\n")
		r.WorkDir = tt.dir
		r.Tools.ReadCall = func(path string, offset int64) string {
			if offset == 0 {
				return fmt.Sprintf(`view {"path":%q}`, path)
			}
			return fmt.Sprintf(`view {"path":%q,"offset":%d}`, path, offset)
		}
		notes := advice.Notes(r)
		want := "To read files use the view tool: "
		if tt.want != "" {
			want = "To read files use view " + tt.want + ": "
		}
		require.Equal(t, []string{want + "it shows more of a file and costs less."}, notes, tt.command)
	}
}
