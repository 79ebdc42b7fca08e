package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/procview"
	"github.com/toolproc/toolproc/procmgr"
)

// printed is what the page shows of an output, without its own words.
const printed = `(() => {
	const pane = document.querySelector('#printed').cloneNode(true);
	pane.querySelectorAll('.veil, .note').forEach(n => n.remove());
	return pane.textContent;
})()`

// pick selects the process whose command has a text.
func (p *page) pick(text string) {
	p.t.Helper()
	row := fmt.Sprintf(`[...document.querySelectorAll('.row')].find(r => r.querySelector('.cmd').textContent.includes(%q))`, text)
	p.until("%s", row)
	eval[bool](p, row+`.click(), true`)
	p.until(`document.querySelector('#command').textContent.includes(%q)`, text)
}

func start(t testing.TB, m procmgr.Manager, req procmgr.StartRequest) string {
	t.Helper()
	out, err := m.Start(t.Context(), req)
	require.NoError(t, err)
	return out.Process.ID
}

// TestWaits has a program ask, and answers it.
func TestWaits(t *testing.T) {
	l := newLocal(t)
	s := newSite(t, l, &procview.Options{Loopback: true})
	id := start(t, l.Chat("a"), procmgr.StartRequest{Command: `read -rp 'Overwrite? ' x; echo "got $x"; read -rsp 'Password: ' x; echo; exec sleep 1000`, Stdin: procmgr.StdinTerminal})
	p := s.open(1200, 800)
	p.pick("Overwrite")
	p.until(state + ` === 'waits for input' && document.querySelector('.bar.waits')`)
	p.until(printed + ` === 'Overwrite? '`)
	answer := func(text string) {
		t.Helper()
		_, err := l.Chat("a").Input(t.Context(), id, procmgr.InputRequest{Data: []byte(text)})
		require.NoError(t, err)
	}
	answer("y\n")
	p.until(state + ` === 'waits for a secret' && document.querySelector('#status').textContent.endsWith(': waits for a secret')`)
	answer("swordfish\n")
	p.until(state + ` === 'running'`)
	p.clean()
}

// TestHalves compares both halves of the page with the results of the tools.
func TestHalves(t *testing.T) {
	l := newLocal(t)
	var got []toolset.Result
	s := newSite(t, l, &procview.Options{Loopback: true, CountTokens: func(text string) int { return len(text) / 3 }})
	set, err := toolset.New(toolset.Static(l.Chat("a")), &toolset.Options{Format: toolset.FormatText, OnResult: func(ctx context.Context, c toolset.Call, r toolset.Result) {
		got = append(got, r)
		s.view.Result(ctx, c, r)
	}})
	require.NoError(t, err)
	res := call(t, set, "execute", map[string]any{"max_output": 800, "command": `for i in $(seq 1 4000); do echo "line $i é"; [ $i = 2000 ] && echo "error: it broke"; done; exec sleep 1000`, "run_in_background": true})
	id := res.Output.Process.ID
	call(t, set, "process_output", map[string]any{"process_id": id, "wait_for": "line 4000", "max_output": 800})
	call(t, set, "process_output", map[string]any{"process_id": id, "since": 20000, "max_output": 800, "wait_timeout": "0s"})
	p := s.open(1200, 800)
	p.pick("seq 1 4000")
	p.until(`document.querySelectorAll('#read .result').length === %d`, len(got))
	contents := eval[[]string](p, `[...document.querySelectorAll('#read .result pre')].map(n => n.textContent)`)
	heads := eval[[]string](p, `[...document.querySelectorAll('#read .result h4')].map(n => n.textContent)`)
	for i, r := range got {
		require.Equal(t, r.Content, contents[i])
		require.Contains(t, heads[i], fmt.Sprintf("%s · %s", amount(len(r.Content), "byte"), amount(len(r.Content)/3, "token")))
	}
	// What the right half does not shade is what the results say that they show.
	p.until(printed + `.endsWith('line 4000 é\n')`)
	whole := eval[string](p, printed)
	shows := make([]bool, len(whole))
	for _, r := range got {
		for _, s := range r.Report.Shows {
			for i := s.From; i < s.To; i++ {
				shows[i] = true
			}
		}
	}
	var want strings.Builder
	for i := range len(whole) {
		if !shows[i] {
			want.WriteByte(whole[i])
		}
	}
	require.NotZero(t, want.Len())
	const shaded = `[...document.querySelectorAll('#printed .unseen')].map(n => { const c = n.cloneNode(true); c.querySelectorAll('.veil').forEach(v => v.remove()); return c.textContent; }).join('')`
	require.Equal(t, want.String(), eval[string](p, shaded))
	p.until(`[...document.querySelectorAll('#printed mark')].some(m => m.textContent.startsWith('error: it broke'))`)
	require.Contains(t, eval[string](p, `document.querySelector('#printed').innerText`), "the model has not seen this")
	p.clean()
}

func amount(n int, one string) string {
	text := fmt.Sprint(n)
	if n >= 1000 {
		text = fmt.Sprintf("%d,%03d", n/1000, n%1000)
	}
	return text + " " + one + "s"
}

func TestStop(t *testing.T) {
	l := newLocal(t)
	s := newSite(t, l, &procview.Options{Loopback: true})
	id := start(t, l.Chat("a"), procmgr.StartRequest{Command: `trap '' INT; (trap '' INT; sleep 1000) & sleep 1001 & wait`})
	p := s.open(1200, 800)
	p.pick("sleep 1001")
	eval[bool](p, `document.querySelector('#stop').click(), true`)
	p.until(`document.querySelector('#stopping').open`)
	press := func(signal string) {
		eval[bool](p, `document.querySelector('[data-signal=%s]').click(), true`, signal)
	}
	press("interrupt")
	p.until(`document.querySelector('#stopping .left').textContent === 'It still runs.'`)
	press("kill")
	p.until(`document.querySelector('#stopping .left').textContent === 'All of it has ended.'`)
	out, err := l.Chat("a").Output(t.Context(), id, procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, procmgr.Exited, out.Process.State)
	require.Equal(t, procmgr.CauseRequest, out.Process.EndedBy)
	p.clean()
	// The page of a View that only shows has no way to stop anything.
	reads := newSite(t, l, &procview.Options{Loopback: true, ReadOnly: true}).open(1200, 800)
	start(t, l.Chat("a"), procmgr.StartRequest{Command: "exec sleep 1002"})
	reads.pick("sleep 1002")
	reads.key(".")
	require.Equal(t, "0", eval[string](reads, `String([...document.querySelectorAll('#stop, dialog')].filter(n => n.open || n.offsetParent && n.id === 'stop').length)`))
}

// TestReconnect stops the server while a process prints, and starts it again.
func TestReconnect(t *testing.T) {
	l := newLocal(t)
	s := newSite(t, l, &procview.Options{Loopback: true})
	stop := filepath.Join(t.TempDir(), "stop")
	start(t, l.Chat("a"), procmgr.StartRequest{Command: fmt.Sprintf(`n=0; while [ ! -e %s ] && [ $n -lt 100000 ]; do n=$((n+1)); echo "line $n"; sleep 0.001; done`, stop)})
	p := s.open(1200, 800)
	p.pick("line $n")
	for range 2 {
		p.until(`document.querySelector('#status').className === '' && ` + printed + `.length > 100`)
		before := eval[int](p, printed+`.length`)
		p.until(printed+`.length > %d`, before+200)
		s.stop()
		p.until(`document.querySelector('#status').className === 'trouble'`)
		s.start()
		p.until(printed+`.length > %d`, before+2000)
	}
	require.NoError(t, os.WriteFile(stop, nil, 0o600))
	p.until(state + ` === 'exit 0'`)
	var want strings.Builder
	lines := strings.Count(eval[string](p, printed), "\n")
	for i := range lines {
		fmt.Fprintf(&want, "line %d\n", i+1)
	}
	require.Equal(t, want.String(), eval[string](p, printed))
	p.clean()
}

// TestHostile has a process print what would harm a page that took it for markup, or
// for an order of its text.
func TestHostile(t *testing.T) {
	l := newLocal(t)
	s := newSite(t, l, &procview.Options{Loopback: true})
	evil := `<img src=x onerror="document.title='owned'"><script>document.title="owned"</script></pre></div>&lt;`
	start(t, l.Chat("<b>chat</b>"), procmgr.StartRequest{Command: `cat <<'EOF'
` + evil + "\nuser\u202egnp.exe\u202c\u2066x\u2069\nEOF\n" + `: '<img src=x onerror=alert(1)>'; printf '\xff\xfe\x00\n'; echo end`})
	hostile, err := json.Marshal(map[string]any{"\u202ename": evil + "\u202e", evil: 1, "output": evil + "\u2066", "meanwhile": []any{evil + "\u2069", map[string]any{"__proto__": evil}}})
	require.NoError(t, err)
	s.view.Result(t.Context(), toolset.Call{Name: evil + "\u202e", Arguments: hostile}, toolset.Result{Content: string(hostile)})
	p := s.open(1200, 800)
	p.pick("cat <<")
	p.until(printed + `.includes('end') && document.querySelector('#calls details')`)
	require.NotRegexp(t, `[\x{202a}-\x{202e}\x{2066}-\x{2069}]`, eval[string](p, `document.querySelector('#calls').textContent`))
	require.Contains(t, eval[string](p, `document.querySelector('#calls').textContent`), evil)
	text := eval[string](p, printed)
	require.Contains(t, text, evil)
	require.Contains(t, text, "user‹U+202E›gnp.exe‹U+202C›‹U+2066›x‹U+2069›")
	require.Equal(t, "0", eval[string](p, `String(document.querySelectorAll('img, #printed script, b:not(.result b, .call b), #calls script').length)`))
	require.NotEqual(t, "owned", eval[string](p, `document.title`))
	require.Contains(t, eval[string](p, `document.querySelector('#nav h2').textContent`), "<b>chat</b>")
	p.clean()
}

// TestFlood has a process print faster than a page can show. The page stays responsive
// and keeps a bounded part; the whole stays in the log, and scrolling reads it.
func TestFlood(t *testing.T) {
	l := newLocal(t)
	s := newSite(t, l, &procview.Options{Loopback: true})
	start(t, l.Chat("a"), procmgr.StartRequest{Command: `head -c 60000000 /dev/zero | tr '\0' x; echo; yes 0123456789012345678901234567890123456789012345678 | head -n 800000; echo the last line; exec sleep 1000`})
	p := s.open(1200, 800)
	eval[bool](p, `window.longest = 0, window.last = performance.now(), setInterval(() => { const now = performance.now(); window.longest = Math.max(window.longest, now - window.last); window.last = now; }, 10), true`)
	p.pick("head -c 60000000")
	p.until(printed + `.endsWith('the last line\n')`)
	require.LessOrEqual(t, eval[int](p, printed+`.length`), 2<<20+100<<10)
	heap := eval[int](p, `(gc && gc(), performance.memory.usedJSHeapSize)`)
	require.Less(t, heap, 64<<20, "bytes of heap after 100 MB of output")
	longest := eval[float64](p, `window.longest`)
	t.Logf("longest time without an answer %.0f ms, heap %d KiB", longest, heap>>10)
	require.Less(t, longest, 3000.0, "ms in which the page did nothing else")
	before := eval[int](p, `blocks[0].from`)
	eval[bool](p, `document.querySelector('#printed').scrollTop = 0, true`)
	p.until(`blocks[0].from < %d`, before)
	p.clean()
}

// TestKeyboard reaches everything without a mouse.
func TestKeyboard(t *testing.T) {
	l := newLocal(t)
	s := newSite(t, l, &procview.Options{Loopback: true})
	for i := range 3 {
		start(t, l.Chat("a"), procmgr.StartRequest{Command: fmt.Sprintf("echo out %d; exec sleep 100%d", i, i)})
	}
	p := s.open(1200, 800)
	p.until(`document.querySelectorAll('.row').length === 3`)
	shown := func(n int) { p.t.Helper(); p.until(printed+` === 'out %d\n'`, n) }
	p.key("j")
	shown(2)
	p.key("j", "j")
	shown(0)
	p.key("k")
	shown(1)
	p.until(`document.activeElement.className === 'row' && document.activeElement.closest('li').className.includes('chosen')`)
	p.key("\r")
	p.until(`document.activeElement.id === 'printed'`)
	p.key("\x1b")
	p.until(`document.activeElement.className === 'row'`)
	p.key("/")
	p.until(`document.activeElement.id === 'search'`)
	eval[bool](p, `document.activeElement.value = '', true`) // DevTools type the / that the page has taken
	p.key("1", "0", "0", "0")
	p.until(`document.querySelectorAll('#list .cmd').length === 2`) // and the one that is shown
	p.key("\x1b")
	p.until(`document.activeElement.className === 'row'`)
	p.key("?")
	p.until(`document.querySelector('#help').open`)
	p.key("\x1b")
	p.until(`!document.querySelector('#help').open`)
	p.key(".")
	p.until(`document.querySelector('#stopping').open && document.activeElement.dataset.signal === 'terminate'`)
	p.key("\r")
	p.until(`document.querySelector('#stopping .left').textContent === 'All of it has ended.'`)
	p.key("\r") // the button that closes has the focus
	p.until(`!document.querySelector('#stopping').open`)
	// Tab reaches every control that is shown.
	reached := make(map[string]bool)
	for range 40 {
		p.key("\t")
		reached[eval[string](p, `document.activeElement.id || document.activeElement.className`)] = true
	}
	for _, id := range []string{"search", "ask-help", "row", "read", "printed"} {
		require.True(t, reached[id], "%s: %v", id, reached)
	}
	p.clean()
}

// The page goes from one process to another while the first one prints: what it printed
// is not taken for the output of the other.
func TestSwitch(t *testing.T) {
	l := newLocal(t)
	s := newSite(t, l, &procview.Options{Loopback: true})
	start(t, l.Chat("a"), procmgr.StartRequest{Command: "echo quiet; exec sleep 1000"})
	start(t, l.Chat("a"), procmgr.StartRequest{Command: "while :; do echo noise; sleep 0.02; done"})
	p := s.open(1200, 800)
	p.until(`document.querySelectorAll('.row').length === 2`)
	for range 20 {
		eval[bool](p, `document.querySelectorAll('.row')[0].click(), true`)
		p.until(printed + `.startsWith('noise\n')`)
		eval[bool](p, `document.querySelectorAll('.row')[1].click(), true`)
		p.until(printed + ` !== ''`)
		require.Equal(t, "quiet\n", eval[string](p, printed))
	}
	p.clean()
}

// TestAxe has axe-core look for what keeps people from using the page, in light and dark
// colours, on a screen and on a phone, on which nothing sticks out.
func TestAxe(t *testing.T) {
	if _, err := exec.LookPath("npm"); err != nil {
		t.Skipf("%v", err)
	}
	dir := t.TempDir()
	npm := exec.CommandContext(t.Context(), "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir, "axe-core@4")
	npm.Env = append(os.Environ(), "HOME="+dir)
	if out, err := npm.CombinedOutput(); err != nil {
		t.Skipf("axe-core cannot be installed: %v: %s", err, out)
	}
	axe, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	require.NoError(t, err)
	s, _ := project(t)
	for scheme, width := range map[string]int64{"light": 1280, "dark": 390} {
		p := s.open(width, 800, media("prefers-color-scheme", scheme))
		p.pick("seq 1 3000")
		p.until(`document.querySelector('#read .result') && document.querySelector('#printed .block')`)
		p.until(`document.querySelector('#next-mark').offsetParent`)
		eval[bool](p, `document.querySelector('#next-mark').click(), true`)
		p.until(`document.querySelector('mark.now')`)
		colour := eval[string](p, `getComputedStyle(document.body).backgroundColor`)
		require.Equal(t, scheme == "dark", strings.HasPrefix(colour, "rgb(18,"), colour)
		require.LessOrEqual(t, eval[int](p, `document.documentElement.scrollWidth`), int(width))
		p.do(script(string(axe)))
		check := func(where string) {
			t.Helper()
			found := eval[string](p, `axe.run().then(r => JSON.stringify(r.violations.map(v => [v.id, v.help, v.nodes.slice(0, 3).map(n => n.html.slice(0, 200) + ' ' + n.failureSummary)]), null, 1))`)
			require.Equal(t, "[]", found, "%s, %s, %d", where, scheme, width)
		}
		check("a process")
		p.key(".")
		p.until(`document.querySelector('#stopping').open`)
		check("the dialog")
		p.key("\x1b", "\x1b")
		check("the list")
		p.pick("lines: 42")
		p.until(`document.querySelector('#screen').textContent.includes('40 %')`)
		check("a terminal")
		p.clean()
	}
}

// crowd is a Host with many processes.
type crowd struct {
	procmgr.Unsupported
	all []procmgr.Process
}

func (c crowd) Chat(string) procmgr.Manager { return c }

func (c crowd) List(_ context.Context, req procmgr.ListRequest) (procmgr.ListPage, error) {
	return procmgr.PageOf(c.all, req)
}

// The newest process is the first one, also of many that a fast machine has started within
// a millisecond.
func TestManyProcesses(t *testing.T) {
	c := crowd{all: make([]procmgr.Process, 10000)}
	now := time.Now()
	for i := range c.all {
		zero := 0
		at := now.Add(time.Duration(i-10000) * 10 * time.Microsecond)
		c.all[i] = procmgr.Process{ID: fmt.Sprintf("p%d", i), ChatID: "a", Command: fmt.Sprintf("make target-%d", i), State: procmgr.Exited, ExitCode: &zero, StartedAt: at, ExitedAt: at.Add(time.Second)}
	}
	p := newSite(t, c, &procview.Options{Loopback: true}).open(1200, 800)
	p.until(`document.querySelectorAll('.row').length === 200`)
	for i, command := range eval[[]string](p, `[...document.querySelectorAll('#list .cmd')].map(n => n.textContent)`) {
		require.Equal(t, fmt.Sprintf("make target-%d", 9999-i), command)
	}
	require.Contains(t, eval[string](p, `document.querySelector('#counts').textContent`), "10,000 ended")
	// Drawing again changes nothing in a list that is as it was.
	require.Zero(t, eval[float64](p, `(() => {
		const seen = new MutationObserver(() => {});
		seen.observe(document.querySelector('#list'), {childList: true, characterData: true, subtree: true});
		draw();
		return seen.takeRecords().length;
	})()`))
	eval[bool](p, `document.querySelector('#more').click(), true`)
	p.until(`document.querySelectorAll('.row').length === 400`)
	eval[bool](p, `document.querySelector('#search').focus(), true`)
	p.key("t", "-", "4", "2", "4", "2")
	p.until(`[...document.querySelectorAll('.cmd')].map(n => n.textContent).join() === 'make target-4242'`)
	p.clean()
}

func TestTerminal(t *testing.T) {
	l := newLocal(t)
	s := newSite(t, l, &procview.Options{Loopback: true})
	start(t, l.Chat("a"), procmgr.StartRequest{Command: `printf '\033[2J\033[2;3Hmenu\033[4;5H'; exec sleep 1000`, Stdin: procmgr.StdinTerminal})
	p := s.open(1200, 800)
	p.pick("printf")
	p.until(`document.querySelector('#screen').textContent.startsWith('\n  menu\n\n     \n')`)
	require.Equal(t, " ", eval[string](p, `document.querySelector('#screen .cursor').textContent`))
	p.clean()
}

// call makes one call of a tool.
func call(t testing.TB, set *toolset.Set, tool string, args map[string]any) toolset.Result {
	t.Helper()
	data, err := json.Marshal(args)
	require.NoError(t, err)
	return set.Call(t.Context(), toolset.Call{Name: tool, Arguments: data})
}

// The age of a process is of its own machine, whose clock may differ from the browser's.
func TestAgeOnAnotherClock(t *testing.T) {
	c := crowd{all: []procmgr.Process{{
		ID: procmgr.NewID(), ChatID: "a", Command: "make", State: procmgr.Running, StartedAt: time.Now().Add(-10 * time.Minute), Elapsed: 2 * time.Second,
	}}}
	p := newSite(t, c, &procview.Options{Loopback: true}).open(1200, 800)
	p.until(`/\b[2-9]s\b/.test(document.querySelector('#facts').textContent)`)
	require.NotContains(t, eval[string](p, `document.querySelector('#facts').textContent`), "10m")
	p.clean()
}
