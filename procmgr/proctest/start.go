package proctest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// brief is a wait in which nothing happens.
const brief = 50 * time.Millisecond

var basicCases = []testCase{
	{"run, read, list and end", "Start runs a command, Output with Until waits for what it prints, List has it, and Kill ends it", func(c *check, m *view) {
		c.result(m.runAs(procmgr.StartRequest{Command: "sleep 0.3; echo hello; exit 3"}), 3, "hello\n")
		c.endIfFailed()
		id := m.start(procmgr.StartRequest{Command: sleeps}).Process.ID
		m.until(id, 0, "^ready$")
		m.runs(id, "although nothing has ended it")
		if !slices.ContainsFunc(m.list(), func(p procmgr.Process) bool { return p.ID == id && p.State == procmgr.Running }) {
			c.fatalf("the process %q runs, and List does not say so", id)
		}
		m.kill(id)
		c.exited(m.ended(id).Process, 137, procmgr.CauseRequest)
	}},
}

var startCases = []testCase{
	{"exit code", "Start waits for the end, and returns all the output of the command and the exit code of the shell; if signal n ends the shell, and not only a child of it, that is 128+n, Signal names the signal, and EndedBy is signal", startExitCode},
	{"returns once started", "Start waits as long as the request says, returns once the process has started, and says that it runs; when the time is up, nothing is killed", func(c *check, m *view) {
		for _, wait := range []time.Duration{0, brief} {
			began := time.Now()
			p := m.start(procmgr.StartRequest{Command: "exec sleep 600", Wait: wait}).Process
			if took := time.Since(began); took < wait {
				c.errorf("Start with a wait of %v for a command that runs on returned after %v", wait, took)
			}
			c.errorIf(p.State != procmgr.Running || p.ID == "" || p.PID <= 0 || p.StartedAt.IsZero(),
				"Start has returned, and the process that it has started is %q, with the ID %q, PID %d, StartedAt %v", p.State, p.ID, p.PID, p.StartedAt)
			c.errorIf(p.ExitCode != nil || !p.ExitedAt.IsZero() || p.EndedBy != "" || p.Signal != "",
				"a process that runs has an end: exit code %s, ExitedAt %v, EndedBy %q, Signal %q", code(p), p.ExitedAt, p.EndedBy, p.Signal)
			m.runs(p.ID, "after its Start had returned")
		}
	}},
	{"context ends during the wait", "ctx bounds the call: if it ends, Start returns its error and the ID of the process, and the process lives on", startBounded},
	{"cut short", "Start returns when its ctx ends, or at once with the error of a ctx that has ended; if it returns an error without an ID, and the error is not ErrUnknown, it has started nothing and will start nothing", startCutShort},
	{"refuses", "a request that can never work is ErrInvalid, starts nothing and returns no ID", startRefuses},
	{"IDs of the host", "an ID that the host makes has 1 to 64 characters of A-Z a-z 0-9 _ -, and no other process has it", func(c *check, m *view) {
		form, seen := regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`), map[string]bool{}
		for range 20 {
			id := m.start(procmgr.StartRequest{Command: "true"}).Process.ID
			c.errorIf(!form.MatchString(id) || seen[id], "the host made the ID %q, which is no ID or not the first one", id)
			seen[id] = true
		}
	}},
	{"IDs of the caller", "any 1 to 64 characters of A-Z a-z 0-9 _ - are an ID, whatever word they form", func(c *check, m *view) {
		for _, id := range []string{"x", "0", "-", "_", "--help", "list", "start", "output", "signal", "LIST", strings.Repeat("aZ-_09xy", 8)} {
			out := m.runAs(procmgr.StartRequest{ID: id, Command: "echo $TOOLPROC_PROCESS_ID"})
			c.errorIf(out.Process.ID != id || out.Attached,
				"Start with the ID %q returned the process %q, Attached %v", id, out.Process.ID, out.Attached)
			c.text(out, id+"\n")
			c.text(m.look(id), id+"\n")
		}
	}},
	{"fields", "Start, Output and List say the same of a process, and it fits the state of the process", startFields},
	{"elapsed", "Elapsed grows while the process lives, stays once it has exited, and is no difference of two machines' clocks", startElapsed},
}

func startExitCode(c *check, m *view) {
	for _, tt := range []struct {
		command, text string
		code          int
		cause         procmgr.Cause
	}{
		{"echo hello", "hello\n", 0, procmgr.CauseExit},
		{"echo no >&2; exit 3", "no\n", 3, procmgr.CauseExit},
		{"printf 'no newline'; exit 255", "no newline", 255, procmgr.CauseExit},
		{"no-such-command-here 2>/dev/null", "", 127, procmgr.CauseExit},
		{"kill -KILL $$", "", 137, procmgr.CauseSignal},
		{"kill -TERM $$", "", 143, procmgr.CauseSignal},
		{"kill -ALRM $$", "", 142, procmgr.CauseSignal},
		{"(sh -c 'kill -KILL $$'; exit $?) 2>/dev/null", "", 137, procmgr.CauseExit},
	} {
		out := m.run(tt.command)
		c.exited(out.Process, tt.code, tt.cause)
		c.printed(out, tt.text, len(tt.text))
		c.errorIf(out.Attached, "Start ran %q and says that it attached to another process", tt.command)
	}
}

func startBounded(c *check, m *view) {
	ctx, cancel := context.WithCancel(c.ctx)
	defer cancel()
	answer := later(func() (procmgr.Output, error) {
		return m.tryStartIn(ctx, procmgr.StartRequest{Command: "exec sleep 600", Wait: c.long})
	})
	c.eventually("that List has the process", func() bool { return len(m.list()) > 0 })
	cancel()
	out, err := answer()
	c.is(err, context.Canceled, "Start whose ctx ended during its wait")
	c.endIfFailed()
	c.fatalIf(out.Process.ID == "", "Start whose ctx ended during its wait returned no ID for the process that it had begun")
	m.runs(out.Process.ID, "after the ctx of its Start had ended")
}

// startCutShort cuts starts short after various times, and compares their
// errors with the marks that the commands have left.
func startCutShort(c *check, m *view) {
	marks := m.dir() + "/marks"
	var refused []string
	for i, after := range []time.Duration{0, 50_000, 200_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000, 300_000_000} { // ns
		ctx, cancel := context.WithCancel(c.ctx)
		end := cancel
		if i%2 == 0 {
			ctx, end = context.WithTimeout(ctx, after)
		} else {
			time.AfterFunc(after, cancel)
		}
		id := c.id()
		out, err := m.tryStartIn(ctx, procmgr.StartRequest{ID: id, Command: "echo " + id + " >> " + quote(marks) + "; exec sleep 600", Wait: c.long})
		end()
		cancel()
		if after == 0 {
			c.is(err, context.DeadlineExceeded, "Start whose ctx had ended before")
		}
		switch {
		case isOneOf(err, errHung, errLasted):
			c.fatalf("the ctx of a Start ended after %v, and that did not end the call: %s", after, told(err))
		case err == nil: // other cases look for that
		case out.Process.ID == "" && !errors.Is(err, procmgr.ErrUnknown):
			refused = append(refused, id)
		case out.Process.ID != "" && out.Process.ID != id:
			c.errorf("Start of the ID %q returned the ID %q", id, out.Process.ID)
		}
	}
	for _, id := range refused {
		c.is(errOf(m.tryRead(id, procmgr.OutputRequest{})), procmgr.ErrNotFound, "Start of %q returned an error without an ID, as if nothing was started: Output of it", id)
	}
	for ran := range strings.Lines(m.file(marks)) {
		if id := strings.TrimSuffix(ran, "\n"); slices.Contains(refused, id) {
			c.errorf("Start of %q returned an error without an ID, as if nothing was started, and its command has run", id)
		}
	}
}

func startRefuses(c *check, m *view) {
	for what, req := range map[string]procmgr.StartRequest{
		"no command":                      {},
		"a blank command":                 {Command: " \t\n"},
		"a NUL byte in the command":       {Command: "echo a\x00b"},
		"a NUL byte in the directory":     {Command: "true", WorkDir: "/\x00"},
		"an empty variable name":          {Command: "true", Env: map[string]string{"": "x"}},
		"a = in a variable name":          {Command: "true", Env: map[string]string{"A=B": "x"}},
		"a NUL byte in a variable name":   {Command: "true", Env: map[string]string{"A\x00B": "x"}},
		"a NUL byte in a variable":        {Command: "true", Env: map[string]string{"A": "a\x00b"}},
		"a space in the ID":               {ID: "a b", Command: "true"},
		"a path as the ID":                {ID: "../x", Command: "true"},
		"a percent sign in the ID":        {ID: "a%62", Command: "true"},
		"a newline in the ID":             {ID: "a\n", Command: "true"},
		"a letter beyond ASCII in the ID": {ID: "ä", Command: "true"},
		"an ID of 65 characters":          {ID: strings.Repeat("x", 65), Command: "true"},
		"a negative lifetime":             {Command: "true", MaxLifetime: -1},
	} {
		m.refuses(req, procmgr.ErrInvalid, "Start with %s", what)
	}
	if all := m.list(); len(all) > 0 {
		c.errorf("Start has refused every request, and List has %d processes, the first %q", len(all), all[0].Command)
	}
}

func startFields(c *check, m *view) {
	req := procmgr.StartRequest{ID: c.id(), Command: "echo x; exit 3", Background: true, Wait: c.long}
	first := m.start(req).Process
	for by, p := range map[string]procmgr.Process{"Start": first, "Output": m.look(req.ID).Process, "List": m.listed()} {
		c.exited(p, 3, procmgr.CauseExit)
		c.errorIf(p.ID != req.ID || p.Command != req.Command || !p.Background || p.ChatID != m.chat,
			"%s returned another process than the one that was started: %+v", by, p)
		c.errorIf(p.PID != first.PID || p.WorkDir != first.WorkDir || !p.StartedAt.Equal(first.StartedAt) || !p.ExitedAt.Equal(first.ExitedAt),
			"%s and Start say something else of one process: %+v and %+v", by, p, first)
		c.errorIf(p.ExitedAt.IsZero() || p.ExitedAt.Before(p.StartedAt),
			"%s says that it exited at %v, and started at %v", by, p.ExitedAt, p.StartedAt)
	}
}

func startElapsed(c *check, m *view) {
	began := time.Now()
	p := m.start(procmgr.StartRequest{Command: "exec sleep 600"}).Process
	waited := m.read(p.ID, procmgr.OutputRequest{Wait: brief}).Process
	if grew := waited.Elapsed - p.Elapsed; grew < brief {
		c.errorf("in a wait of %v, Elapsed of a process that runs grew from %v to %v", brief, p.Elapsed, waited.Elapsed)
	}
	listed := m.listed()
	m.kill(p.ID)
	ended := m.ended(p.ID).Process
	took, last := time.Since(began), time.Duration(0)
	for i, p := range []procmgr.Process{p, waited, listed, ended} {
		c.errorIf(p.Elapsed < last || p.Elapsed > took,
			"answer %d says that the process has run for %v, after one that said %v, and %v after its start was asked for", i+1, p.Elapsed, last, took)
		last = p.Elapsed
	}
	if later := m.look(p.ID).Process.Elapsed; later != last {
		c.errorf("Elapsed of a process that has exited was %v, and later %v", last, later)
	}
}

var commandCases = []testCase{
	{"exactly as given", "the shell gets the command byte for byte, even if it is long, or begins with - or + like an option, and Process.Command is the same", prints(map[string]string{
		`echo "it's" 'a "quote"' a\ b \\`:                                 "it's a \"quote\" a b \\\n",
		"echo one\necho two\n":                                            "one\ntwo\n",
		"cat <<'END'\n$HOME `id`\tä€😀 <>&\nEND\n":                         "$HOME `id`\tä€😀 <>&\n",
		"  echo blanks  around  ":                                         "blanks around\n",
		"echo comment # no newline after it":                              "comment\n",
		"echo \\\njoined":                                                 "joined\n",
		"for i in 1 2\ndo\n\tprintf '%s;' \"$i\"\ndone":                   "1;2;",
		"f() { echo \"$#:$1\"; }; f \"a  b\" ''":                          "2:a  b\n",
		"echo a; exit 0; echo \u2028":                                     "a\n",
		`echo end; : \`:                                                   "end\n",
		"set -- " + strings.Repeat("x", 100<<10) + "\necho ${#1} the end": "102400 the end\n",
		"-x 2>/dev/null; echo went on":                                    "went on\n",
		"+x 2>/dev/null; echo went on":                                    "went on\n",
		"--help 2>/dev/null; echo went on":                                "went on\n",
		"-c 'echo no' 2>/dev/null; echo went on":                          "went on\n",
	})},
	{"streams in order", "stdout and stderr are one stream, in the order in which the command wrote them", prints(map[string]string{
		"for i in 1 2 3 4 5 6 7 8; do echo $i; echo e$i >&2; done": "1\ne1\n2\ne2\n3\ne3\n4\ne4\n5\ne5\n6\ne6\n7\ne7\n8\ne8\n",
	})},
	{"stdin is empty", "stdin is empty: a command that reads it reaches the end at once", prints(map[string]string{
		"cat; read -r line; echo read says $?": "read says 1\n",
	})},
	{"no terminal", "a command runs in a session without a terminal, so that it cannot prompt on the terminal of the host", prints(map[string]string{
		`for fd in 0 1 2; do test -t $fd && echo "$fd is a terminal"; done
(: </dev/tty) 2>/dev/null && echo "/dev/tty can be opened"
echo done`: "done\n",
	})},
	{"complete at the exit", "when the exit is reported, all output from before the exit is there, and above all the last line", func(c *check, m *view) {
		want := strings.Repeat("x", 20000) + "\nthe end\n"
		for range 10 {
			c.printed(m.run("head -c 20000 /dev/zero | tr '\\0' x; echo; echo the end"), want, len(want))
		}
	}},
}

// prints is a case of commands that have to print a text each.
func prints(texts map[string]string) func(c *check, m *view) {
	return func(c *check, m *view) {
		for command, text := range texts {
			out := m.run(command)
			c.printed(out, text, len(text))
			for by, p := range map[string]procmgr.Process{"Start": out.Process, "Output": m.look(out.Process.ID).Process} {
				c.errorIf(p.Command != command, "the command was %s, and by %s Process.Command is %s", excerpt(command), by, excerpt(p.Command))
			}
		}
	}
}

var shellCases = []testCase{
	{"told", "Describe names the program that interprets commands and the system, the same at every call, or \"\"", func(c *check, m *view) {
		shellTold(c, c.host)
		shellTold(c, m)
	}},
}

func shellTold(c *check, m *view) {
	machine := m.describe()
	if again := m.describe(); !reflect.DeepEqual(again, machine) {
		c.errorf("the machine was described as %+v, and asked for again as %+v", machine, again)
	}
	if machine == (procmgr.Description{}) {
		return // such as a Host of many machines, which may not start anything itself
	}
	// Android, whose uname says Linux, cannot run the suite.
	system := strings.ToLower(strings.TrimSpace(m.run("uname -s 2>/dev/null").Text))
	known := slices.Contains([]string{"linux", "darwin", "freebsd", "netbsd", "openbsd", "dragonfly"}, system)
	c.errorIf(machine.OS != "" && machine.OS != system && known, "the system is %q, and a command finds %q", machine.OS, system)
	shell, is := machine.Shell, strings.TrimSpace(m.run(`echo "${BASH_VERSION:+bash}${KSH_VERSION:+ksh}${ZSH_VERSION:+zsh}"`).Text)
	c.errorIf(strings.ContainsAny(shell, `/\ `) || strings.HasSuffix(shell, ".exe"), "the shell is %q, which is no base name", shell)
	// Any shell may be the system's sh, and one such as dash has no variable.
	c.errorIf(shell != "" && shell != "sh" && !strings.Contains(shell, is) || shell == "bash" && is == "",
		"the shell is %q, and a command is run by %q", shell, is)
}

var directoryCases = []testCase{
	{"asked for", "a request runs in the directory that it names, which is relative to the default one, or else in that, and WorkDir names the same directory as an absolute path", func(c *check, m *view) {
		dir, byDefault := m.dir(), m.run("pwd -P")
		odd := dir + "/with a space, 'quotes' and ä"
		c.text(m.run(`mkdir "`+odd+`"`), "")
		for _, dir := range []string{"/", dir, odd} {
			c.ranIn(m, dir, dir, nil)
		}
		for _, asked := range []string{byDefault.Process.WorkDir, "."} {
			out := m.runAs(procmgr.StartRequest{Command: "pwd -P", WorkDir: asked})
			c.errorIf(out.Text != byDefault.Text || !path.IsAbs(out.Process.WorkDir),
				"the default directory is %q, and %q is %q; WorkDir says %q", byDefault.Text, asked, out.Text, out.Process.WorkDir)
		}
	}},
	{"home", "a ~ that stands alone or before a slash is the home directory on the machine that runs the command, which is HOME for the command", func(c *check, m *view) {
		home := m.dir()
		c.text(m.run("mkdir "+quote(home+"/below")), "")
		env := map[string]string{"HOME": home}
		c.ranIn(m, "~", home, env)
		c.ranIn(m, "~/", home, env)
		c.ranIn(m, "~/below", home+"/below", env)
		if shells := m.run(`test -n "$HOME" && cd ~ && pwd -P`); shells.Text != "" {
			c.text(m.runAs(procmgr.StartRequest{Command: "pwd -P", WorkDir: "~"}), shells.Text)
		}
	}},
	{"missing", "if a directory cannot be used, Start fails with ErrInvalid, runs nothing, and leaves the ID unused", directoryMissing},
}

// ranIn fails if a request for a directory runs in another one.
func (c *check) ranIn(m *view, asked, want string, env map[string]string) {
	out := m.runAs(procmgr.StartRequest{Command: "pwd -P", WorkDir: asked, Env: env})
	c.text(out, want+"\n")
	c.errorIf(out.Process.WorkDir != want, "the directory %q was asked for, which is %q, and WorkDir is %q", asked, want, out.Process.WorkDir)
}

func directoryMissing(c *check, m *view) {
	dir := m.dir()
	missing, file := dir+"/missing", dir+"/file"
	m.run(": >" + quote(file))
	req := procmgr.StartRequest{ID: c.id(), Command: "echo ran >>" + quote(dir+"/runs") + "; pwd -P", WorkDir: missing, Wait: c.long}
	for what, dir := range map[string]string{"a missing directory": missing, "a file as the directory": file} {
		req.WorkDir = dir
		m.refuses(req, procmgr.ErrInvalid, "Start in %s", what)
		c.is(errOf(m.tryRead(req.ID, procmgr.OutputRequest{})), procmgr.ErrNotFound, "Output of an ID whose Start was refused for %s", what)
	}
	if runs := m.file(dir + "/runs"); runs != "" {
		c.errorf("a refused Start ran its command: %q", runs)
	}
	m.run("mkdir " + quote(missing))
	req.WorkDir = missing
	if out, err := m.tryStart(req); err != nil || out.Attached || out.Text != missing+"\n" {
		c.errorf("Start was refused for a missing directory, and after it was made, the same Start returned %s, Attached %v and %q", told(err), out.Attached, out.Text)
	}
}

const printMarks = `echo "${TOOLPROC-unset} ${TOOLPROC_PROCESS_ID-unset} ${TOOLPROC_CHAT_ID-unset}"`

var environmentCases = []testCase{
	{"of the request", "the command gets the variables of the request byte for byte, and they win over those of the host", func(c *check, m *view) {
		env := map[string]string{
			"EMPTY": "", "lower_case": "1", "SPACES": "  a  b  ", "LINES": "one\ntwo\n", "QUOTES": `it's "$HOME" \ %s`, "SIGNS": "<>&=a=b",
			"RUNES": "ä€😀\u2028", "CONTROLS": "\x01\t\x7f", "PAGER": "the request's own", "LONG": strings.Repeat("x", 10000),
		}
		given := maps.Clone(env)
		for name, value := range given {
			out := m.runAs(procmgr.StartRequest{Command: `printf '%s' "${` + name + `-unset}"`, Env: env})
			c.errorIf(out.Text != value, "the request's variable %s is %s, and the command sees %s", name, excerpt(value), excerpt(out.Text))
		}
		c.errorIf(!maps.Equal(env, given), "Start changed the map of its request: %d variables are left of %d", len(env), len(given))
	}},
	{"of one process only", "the variables of a request are for its process alone", func(c *check, m *view) {
		const command = `echo "${OF_ANOTHER_REQUEST-unset}"`
		c.text(m.runAs(procmgr.StartRequest{Command: command, Env: map[string]string{"OF_ANOTHER_REQUEST": "set"}}), "set\n")
		c.text(m.run(command), "unset\n")
	}},
	{"marks", "children see TOOLPROC=1 and TOOLPROC_PROCESS_ID, and, only if they belong to a chat, TOOLPROC_CHAT_ID; a request cannot replace them", func(c *check, m *view) {
		forged := map[string]string{"TOOLPROC": "forged", "TOOLPROC_PROCESS_ID": "forged", "TOOLPROC_CHAT_ID": "forged"}
		for _, v := range []*view{m, c.own()} {
			for _, command := range []string{printMarks, "sh -c '" + printMarks + "'"} {
				for _, env := range []map[string]string{nil, forged} {
					out := v.runAs(procmgr.StartRequest{Command: command, Env: env})
					c.text(out, fmt.Sprintf("1 %s %s\n", out.Process.ID, cmp.Or(v.chat, "unset")))
				}
			}
		}
	}},
	{"secrets", "if the value of a variable of the request is masked, Output.Redacted has its name, and the value stands in no output and is found by no search; if nothing is masked, Redacted is empty", environmentSecrets},
}

func environmentSecrets(c *check, m *view) {
	const name, value, mask = "PROCTEST_TOKEN", "k7Qm2Xw9Rt4Vz8Lp1Nc6", "[withheld: PROCTEST_TOKEN]"
	out := m.runAs(procmgr.StartRequest{Command: `echo "one $` + name + `"; echo "two $` + name + `"`, Env: map[string]string{name: value}})
	if len(out.Redacted) == 0 {
		c.text(out, "one "+value+"\ntwo "+value+"\n")
		return
	}
	c.text(out, "one "+mask+"\ntwo "+mask+"\n")
	c.errorIf(len(out.Redacted) != 1 || out.Redacted[0] != name, "Redacted is %q, and had to be the name of the variable, %q", out.Redacted, name)
	found := m.read(out.Process.ID, procmgr.OutputRequest{Until: value[5:15]})
	c.errorIf(found.Matched || strings.Contains(found.Text, value),
		"a search for a part of a masked value returned the line %q and the text %s", found.MatchedLine, excerpt(found.Text))
	if found = m.read(out.Process.ID, procmgr.OutputRequest{Until: "^two .*"}); found.MatchedLine != "two "+mask {
		c.errorf("the line with a masked value is %q, and had to be %q", found.MatchedLine, "two "+mask)
	}
}
