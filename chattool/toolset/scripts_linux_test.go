package toolset_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A statement is a piece of a random script and what it does, worked out without a
// shell. It returns its code, and whether it ends the shell that runs it.
type statement struct {
	text string
	do   func(out *bytes.Buffer) (code int, ended bool)
	errs bool // some of it goes to stderr, past a pipeline
}

// A scripter writes random scripts in the language of every POSIX shell.
type scripter struct{ *rand.Rand }

func (s *scripter) word() string {
	const letters = "abcdefghijklmnopqrstuvwxyzäöü世界🙂0123456789 .,:;<>&|%$#@!~^*()[]{}=+-_/\\\""
	runes := []rune(letters)
	word := make([]rune, 1+s.IntN(30))
	for i := range word {
		word[i] = runes[s.IntN(len(runes))]
	}
	return string(word)
}

// script returns a list of statements.
func (s *scripter) script(depth int) statement {
	list := make([]statement, 1+s.IntN(4))
	texts := make([]string, len(list))
	errs := false
	for i := range list {
		list[i] = s.statement(depth)
		texts[i] = list[i].text
		errs = errs || list[i].errs
	}
	return statement{errs: errs, text: strings.Join(texts, "\n"), do: func(out *bytes.Buffer) (code int, ended bool) {
		for _, st := range list {
			if code, ended = st.do(out); ended {
				break
			}
		}
		return code, ended
	}}
}

func (s *scripter) statement(depth int) statement {
	if depth == 0 {
		return s.simple()
	}
	inner := s.script(depth - 1)
	in := func(before, after string, do func(*bytes.Buffer) (int, bool)) statement {
		return statement{before + "\n" + inner.text + "\n" + after, do, inner.errs}
	}
	switch s.IntN(8) {
	case 0:
		return in("(", ")", subshell(inner))
	case 1: // the code of a pipeline is the code of its last command
		if inner.errs {
			return in("{", "}", inner.do)
		}
		return in("{", "} | cat", func(out *bytes.Buffer) (int, bool) {
			inner.do(out)
			return 0, false
		})
	case 2:
		rounds := 1 + s.IntN(3)
		return in("for i in"+strings.Repeat(" x", rounds)+"; do", "done", func(out *bytes.Buffer) (code int, ended bool) {
			for range rounds {
				if code, ended = inner.do(out); ended {
					break
				}
			}
			return code, ended
		})
	case 3:
		st := in("{", "} 1>&2", inner.do)
		st.errs = true
		return st
	case 4: // a background job that is waited for
		return in("{", "} & wait $!", subshell(inner))
	}
	return s.simple()
}

func subshell(inner statement) func(*bytes.Buffer) (int, bool) {
	return func(out *bytes.Buffer) (int, bool) {
		code, _ := inner.do(out)
		return code, false
	}
}

func (s *scripter) simple() statement {
	says := func(text, prints string, code int) statement {
		return statement{text: text, do: func(out *bytes.Buffer) (int, bool) {
			out.WriteString(prints)
			return code, false
		}}
	}
	switch s.IntN(10) {
	case 0:
		code := s.IntN(256)
		return says(fmt.Sprintf("(exit %d)", code), "", code)
	case 1: // a line without an end
		word := s.word()
		return says("printf %s "+quoted(word), word, 0)
	case 2: // more than a pipe takes at once
		lines := 1 + s.IntN(3000)
		word := s.word()
		return says(fmt.Sprintf("yes %s | head -n %d", "-- "+quoted(word), lines), strings.Repeat(word+"\n", lines), 0)
	case 3: // a line that is longer than any limit
		n := 1 + s.IntN(100_000)
		return says(fmt.Sprintf(`head -c %d /dev/zero | tr '\0' a; echo`, n), strings.Repeat("a", n)+"\n", 0)
	case 4:
		return says("sleep 0.00"+strconv.Itoa(s.IntN(10)), "", 0)
	case 5:
		word := s.word()
		return says("cat <<'END-OF-IT'\n"+word+"\nEND-OF-IT", word+"\n", 0)
	case 6:
		code := s.IntN(256)
		if s.IntN(8) > 0 { // most scripts go on
			return says("true", "", 0)
		}
		return statement{text: "exit " + strconv.Itoa(code), do: func(*bytes.Buffer) (int, bool) { return code, true }}
	}
	word := s.word()
	return says("printf '%s\\n' "+quoted(word), word+"\n", 0)
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// No code, byte, log or page is wrong, whatever a script does: each random
// script is run by the tools, and worked out by the test.
func TestRandomScripts(t *testing.T) {
	t.Parallel()
	randomScripts(t, 20)
}

func TestHeldRandomScripts(t *testing.T) {
	testenv.Held(t)
	randomScripts(t, testenv.Rounds(60, 3000))
}

func randomScripts(t *testing.T, n int) {
	const callers = 4
	dir := t.TempDir()
	manager := newHost(t, &proclocal.Options{
		WorkDir: dir,
		LogDir:  filepath.Join(dir, "logs"),
		Retain:  time.Minute, OutputMemory: 8 << 20,
	})
	seed := rand.Uint64()
	var wg sync.WaitGroup
	for caller := range callers {
		m := manager.Chat("chat-" + strconv.Itoa(caller))
		set := newSet(toolset.Static(m), &toolset.Options{ProcessID: func(_ context.Context, c toolset.Call) string { return c.ID }})
		wg.Go(func() {
			for i := caller; i < n && !t.Failed(); i += callers {
				s := scripter{Rand: rand.New(rand.NewPCG(seed, uint64(i)))}
				oneScript(t, m, set, s, fmt.Sprintf("seed %d, script %d", seed, i))
			}
		})
	}
	wg.Wait()
}

func oneScript(t *testing.T, m procmgr.Manager, set *toolset.Set, s scripter, which string) {
	script := s.script(s.IntN(4))
	var want bytes.Buffer
	code, ended := script.do(&want)
	command := script.text
	if !ended {
		// What $? was is said by a code of its own, and no last statement is a
		// background job.
		command += "\n(exit $?)"
	}
	fail := func(format string, args ...any) {
		t.Errorf("%s: %s\nthe script:\n%s", which, fmt.Sprintf(format, args...), excerpt(command))
	}
	id := procmgr.NewID()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var streamed strings.Builder // what is read by offset while it is printed
	var following sync.WaitGroup
	follow := procmgr.FollowOptions{Await: true, Every: -1, Limit: 300 + s.IntN(20_000)}
	following.Go(func() {
		for chunk, err := range procmgr.Follow(ctx, m, id, &follow) {
			if streamed.WriteString(chunk.Text); err != nil || chunk.Gap > 0 {
				fmt.Fprintf(&streamed, "[%d bytes are missing, error %v]", chunk.Gap, err)
			}
		}
	})
	res := set.Call(ctx, toolset.Call{ID: id, Name: "execute", Arguments: []byte(arguments(t,
		"command", command, "timeout", 120, "max_output", 200+s.IntN(12_000)))})
	if res.Report.State != procmgr.Exited {
		cancel()
	}
	following.Wait()
	rep := res.Report
	if res.IsError || rep.State != procmgr.Exited || rep.ExitCode == nil {
		fail("%s", excerpt(res.Content))
		return
	}
	if *rep.ExitCode != code || rep.Success != (code == 0) {
		fail("the code is %d, success %v, and ought to be %d", *rep.ExitCode, rep.Success, code)
	}
	whole := want.String()
	if shown := unfold(*rep.Output); rep.Truncated == nil && shown != whole {
		fail("the output is %s, and ought to be %s", excerpt(shown), excerpt(whole))
	}
	if rep.Truncated != nil && rep.Truncated.OriginalBytes != int64(len(whole)) {
		fail("%d bytes were printed, and truncated says %+v", len(whole), *rep.Truncated)
	}
	if streamed.String() != whole {
		fail("read while it ran was %s, and ought to be %s", excerpt(streamed.String()), excerpt(whole))
	}
	out, err := m.Output(t.Context(), id, procmgr.OutputRequest{})
	if err != nil {
		fail("%v", err)
		return
	}
	log, err := os.ReadFile(out.Process.LogPath)
	if err != nil || sha256.Sum256(log) != sha256.Sum256([]byte(whole)) {
		fail("the log has %s, error %v, and ought to have %s", excerpt(string(log)), err, excerpt(whole))
	}
	// The pages of random places say what was printed there.
	for range 4 {
		from := s.Int64N(int64(len(whole)) + 1)
		page, err := m.Output(t.Context(), id, procmgr.OutputRequest{From: from, Limit: headtail.Limits{Bytes: -1, Line: -1}})
		if err != nil {
			fail("%v", err)
			return
		}
		// A page that begins within a rune begins with U+FFFD.
		if text := strings.ToValidUTF8(whole[from:], "\uFFFD"); page.Truncated == nil && strings.TrimLeft(page.Text, "\uFFFD") != strings.TrimLeft(text, "\uFFFD") {
			fail("from %d on it printed %s, and the page is %s", from, excerpt(text), excerpt(page.Text))
		}
		if page.Next != int64(len(whole)) {
			fail("the page from %d on ends at %d of %d", from, page.Next, len(whole))
		}
	}
}

func excerpt(s string) string {
	if len(s) > 400 {
		return fmt.Sprintf("%q … %q (%d bytes)", s[:200], s[len(s)-200:], len(s))
	}
	return strconv.Quote(s)
}

var foldedLine = regexp.MustCompile(`(.*\n)\.\.\. \[(?:the line above )?(\d+) (?:times|empty lines) more\] \.\.\.\n`)

// unfold writes the folded lines of an output again.
func unfold(text string) string {
	return foldedLine.ReplaceAllStringFunc(text, func(folded string) string {
		parts := foldedLine.FindStringSubmatch(folded)
		n, _ := strconv.Atoi(parts[2])
		return strings.Repeat(parts[1], n+1)
	})
}
