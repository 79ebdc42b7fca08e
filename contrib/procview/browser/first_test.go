package browser_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/procview"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// state is what the list says of the process that is shown.
const state = `document.querySelector('li.chosen .state').textContent`

// Somebody who has just opened the page sees the newest process and the timeline, and a
// search shows one that fits, until they choose one themselves.
func TestFirstPicture(t *testing.T) {
	l := newLocal(t)
	s := newSite(t, l, &procview.Options{Loopback: true})
	p := s.open(1200, 800)
	require.NotContains(t, eval[string](p, `location.href`), "token", "the address in the history has no token")
	p.until(`document.querySelector('#nothing').textContent === 'There is no process yet.'`)
	start(t, l.Chat("a"), procmgr.StartRequest{Command: "echo first; exec sleep 1000"})
	p.until(printed + ` === 'first\n'`)
	require.NotEmpty(t, start(t, l.Chat("b"), procmgr.StartRequest{Command: "echo second; exec sleep 1001"}))
	p = s.open(1200, 800)
	p.until(printed + ` === 'second\n'`)
	p.until(`document.querySelectorAll('#bars .bar').length === 2`)
	require.Equal(t, "BODY", eval[string](p, `document.activeElement.tagName`), "nothing takes the focus")
	p.key("/")
	p.until(`document.activeElement.id === 'search'`)
	eval[bool](p, `document.activeElement.value = '', true`) // DevTools type the / that the page has taken
	p.key("f", "i", "r", "s", "t")
	p.until(printed + ` === 'first\n'`)
	require.Equal(t, 1, eval[int](p, `document.querySelectorAll('.row').length`))
	p.clean()
	phone := s.open(390, 800)
	phone.until(`document.querySelectorAll('.row').length === 2`)
	require.True(t, eval[bool](phone, `document.querySelector('#list').offsetParent !== null && document.querySelector('#main').offsetParent === null`), "a phone begins with the list")
}

// A result in JSON, the default, is shown with its output as the program printed it.
func TestJSONResult(t *testing.T) {
	l := newLocal(t)
	s := newSite(t, l, &procview.Options{Loopback: true})
	set, err := toolset.New(toolset.Static(l.Chat("a")), &toolset.Options{OnResult: s.view.Result})
	require.NoError(t, err)
	res := call(t, set, "execute", map[string]any{"command": `printf 'one\n\t"two" <b>\n'; exit 3`})
	require.Contains(t, res.Content, `one\n`, "the model reads JSON")
	p := s.open(1200, 800)
	p.until(`document.querySelector('#read .result pre')`)
	require.Equal(t, "one\n\t\"two\" <b>\n", eval[string](p, `document.querySelector('#read .result pre').textContent`))
	facts := eval[string](p, `[...document.querySelectorAll('#read .fact')].map(n => n.textContent).join('\n')`)
	require.Contains(t, facts, "exit_code 3")
	require.Contains(t, facts, "state exited")
	require.NotContains(t, facts, "two")
	require.Contains(t, eval[string](p, `document.querySelector('#read h4').textContent`), amount(len(res.Content), "byte"), "as long as what the model reads")
	p.clean()
}

// Marks are found in the log.
func TestMarksNeedLog(t *testing.T) {
	l, err := proclocal.New(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	p := newSite(t, l, &procview.Options{Loopback: true}).open(1200, 800)
	start(t, l.Chat("a"), procmgr.StartRequest{Command: "echo 'error: it broke'; exec sleep 1000"})
	p.until(`document.querySelector('#printed-count').textContent.includes('LogDir')`)
	logged := newLocal(t)
	start(t, logged.Chat("a"), procmgr.StartRequest{Command: "echo 'error: it broke'; exec sleep 1000"})
	p = newSite(t, logged, &procview.Options{Loopback: true}).open(1200, 800)
	p.until(`document.querySelector('#printed mark')`)
	require.NotContains(t, eval[string](p, `document.querySelector('#printed-count').textContent`), "LogDir")
}

// A server that has been restarted has other processes. The page does not show the
// processes of the dead server as running, and offers no button for them.
func TestRestartedServer(t *testing.T) {
	stops := `document.querySelector('#stop').offsetParent !== null`
	for _, chosen := range []bool{true, false} {
		l := newLocal(t)
		s := newSite(t, l, &procview.Options{Token: "same"})
		start(t, l.Chat("a"), procmgr.StartRequest{Command: "echo other; exec sleep 1000"})
		start(t, l.Chat("a"), procmgr.StartRequest{Command: "echo one; exec sleep 1000"})
		p := s.open(1200, 800)
		if chosen {
			p.pick("echo one")
		}
		p.until(printed + ` === 'one\n' && ` + stops)
		s.stop()
		p.until(`document.querySelector('#status').className === 'trouble'`)
		p.until(state + ` === 'not known' && !(` + stops + `)`)
		require.Equal(t, "not known,not known", eval[string](p, `[...document.querySelectorAll('.row .state')].map(n => n.textContent).join()`))
		require.Zero(t, eval[int](p, `document.querySelectorAll('.row .dot').length - document.querySelectorAll('li.unknown').length`))

		next := newLocal(t)
		start(t, next.Chat("a"), procmgr.StartRequest{Command: "echo new; exec sleep 1000"})
		var err error
		s.view, err = procview.New(next, &procview.Options{Token: "same"})
		require.NoError(t, err)
		s.start()
		if chosen { // what somebody has chosen stays
			p.until(state + ` === 'gone'`)
			require.Equal(t, "one\n", eval[string](p, printed))
			require.False(t, eval[bool](p, stops))
			p.until(`[...document.querySelectorAll('.row .state')].map(n => n.textContent).join() === 'running,gone'`)
		} else {
			p.until(printed + ` === 'new\n' && ` + stops)
			p.until(`document.querySelectorAll('.row').length === 1`)
		}
		require.Equal(t, "1 living, 0 ended", eval[string](p, `document.querySelector('#counts').textContent`))
		p.clean()

		// One with a token of its own is another server.
		s.stop()
		s.view, err = procview.New(next, &procview.Options{Loopback: true})
		require.NoError(t, err)
		s.start()
		p.until(`document.querySelector('#asking').open`)
		p.until(`![...document.querySelectorAll('.row .state')].some(n => n.textContent === 'running')`)
		require.False(t, eval[bool](p, stops))
	}
}

// The timeline has every process, and stays as it is when another one is selected.
func TestTimeline(t *testing.T) {
	l := newLocal(t)
	for i := range 24 {
		start(t, l.Chat(fmt.Sprint("chat ", i%2)), procmgr.StartRequest{Command: fmt.Sprintf("exec sleep 10%02d", i)})
	}
	p := newSite(t, l, &procview.Options{Loopback: true}).open(1200, 800)
	p.until(`document.querySelectorAll('#bars .bar').length === 24`)
	require.Equal(t, 24, eval[int](p, `(() => { const all = document.querySelector('#bars').getBoundingClientRect();
		return [...document.querySelectorAll('.bar')].map(b => b.getBoundingClientRect()).filter(b => b.height >= 2 && b.top >= all.top - 1 && b.bottom <= all.bottom + 1).length; })()`), "each is to be seen")
	require.Less(t, eval[int](p, `document.querySelector('#timeline').offsetHeight`), 160)
	// Time goes on, but not for this.
	eval[bool](p, `(() => { const now = Date.now(); Date.now = () => now; draw(); return true; })()`)
	look := `JSON.stringify([document.querySelector('#timeline').offsetHeight, document.querySelector('#axis').textContent, ...[...document.querySelectorAll('.bar')].map(b => [b.title, b.style.left, b.style.width, b.offsetTop])])`
	before := eval[string](p, look)
	for _, i := range []int{0, 23, 11} {
		p.pick(fmt.Sprintf("sleep 10%02d", i))
		eval[bool](p, `draw(), true`)
		require.Equal(t, before, eval[string](p, look))
		require.Contains(t, eval[string](p, `document.querySelector('.bar.chosen').title`), fmt.Sprintf("sleep 10%02d", i))
	}
	p.clean()
}

// A list that names processes that have ended long ago keeps no row of the timeline for
// each of them.
func TestTimelineRows(t *testing.T) {
	l := newLocal(t)
	s := newSite(t, l, &procview.Options{Loopback: true})
	set, err := toolset.New(toolset.Static(l.Chat("a")), &toolset.Options{OnResult: s.view.Result})
	require.NoError(t, err)
	for i := range 6 {
		call(t, set, "execute", map[string]any{"command": fmt.Sprintf("sleep 0.3; echo %d", i)})
	}
	for range 2 {
		call(t, set, "process_list", nil)
	}
	p := s.open(1200, 800)
	p.until(`document.querySelectorAll('#bars .bar').length === 6 && document.querySelectorAll('#bars .tick').length === 6`)
	require.LessOrEqual(t, eval[int](p, `document.querySelectorAll('#bars .lane').length`), 3)
	p.clean()
}

// Every call is in the column, also one without a process.
func TestCalls(t *testing.T) {
	l := newLocal(t)
	s := newSite(t, l, &procview.Options{Loopback: true})
	set, err := toolset.New(toolset.Static(l.Chat("a")), &toolset.Options{OnResult: s.view.Result, Approve: func(_ context.Context, q toolset.Question) (toolset.Verdict, error) {
		return toolset.Verdict{Deny: q.Command == "rm -rf /", Reason: "the user said no"}, nil
	}})
	require.NoError(t, err)
	p := s.open(1300, 800)
	call(t, set, "execute", map[string]any{"command": "rm -rf /"})
	p.until(`document.querySelector('#calls .call.denied')`)
	require.Contains(t, eval[string](p, `document.querySelector('#calls .call').textContent`), "rm -rf /")
	call(t, set, "execute", map[string]any{"command": "echo good"})
	call(t, set, "execute", map[string]any{"command": "echo bad; exit 4"})
	call(t, set, "process_list", nil)
	call(t, set, "process_output", map[string]any{"process_id": "none"})
	// A tool for files is another Set, and its result has no process.
	s.view.Result(t.Context(), toolset.Call{Name: "edit_files", Arguments: []byte(`{"path":"<main.go>"}`)}, toolset.Result{Content: `{"success":true,"output":"12\treturn 3\n"}`})
	p.until(`document.querySelectorAll('#calls .call').length === 6`)
	heads := eval[[]string](p, `[...document.querySelectorAll('#calls .call')].map(n => n.querySelector('b').textContent + ' ' + n.querySelector('small').textContent.replace(n.title, ''))`)
	require.Equal(t, []string{"execute denied", "execute exit 0", "execute exit 4", "process_list ", "process_output error", "edit_files "}, heads)
	require.Equal(t, "execute,process_output", eval[string](p, `[...document.querySelectorAll('#calls .failed b')].map(n => n.textContent).join()`))
	eval[bool](p, `[...document.querySelectorAll('#calls summary')].at(-1).click(), true`)
	require.Equal(t, "12\treturn 3\n", eval[string](p, `document.querySelector('#calls details[open] pre').textContent`))
	eval[bool](p, `[...document.querySelectorAll('#calls button')].at(0).click(), true`)
	p.until(printed + ` === 'good\n'`)
	// A page that is opened later has them too, once each.
	later := s.open(1300, 800)
	later.until(`document.querySelectorAll('#calls .call').length === 6`)
	later.pick("echo bad")
	later.until(printed + ` === 'bad\n'`)
	require.Equal(t, 6, eval[int](later, `document.querySelectorAll('#calls .call').length`))
	p.clean()
	later.clean()
}

// An end that the model has asked for is no failure.
func TestEndOnRequest(t *testing.T) {
	l := newLocal(t)
	p := newSite(t, l, &procview.Options{Loopback: true}).open(1200, 800)
	for _, tt := range []struct {
		command string
		end     func(id string)
		state   string
		red     bool
	}{
		{"exec sleep 1000", func(id string) { require.NoError(t, l.Chat("a").Signal(t.Context(), id, procmgr.Terminate)) }, "SIGTERM, on request", false},
		{"trap 'exit 7' TERM; echo ready; sleep 1001 & wait", func(id string) {
			p.until(printed + ` === 'ready\n'`)
			require.NoError(t, l.Chat("a").Signal(t.Context(), id, procmgr.Terminate))
		}, "exit 7, on request", false},
		{"kill -KILL $$", func(string) {}, "SIGKILL", true},
	} {
		id := start(t, l.Chat("a"), procmgr.StartRequest{Command: tt.command})
		p.pick(tt.command[:9])
		tt.end(id)
		p.until(state+` === %q`, tt.state)
		require.Equal(t, tt.red, eval[bool](p, `document.querySelector('li.chosen').classList.contains('failed')`))
		p.until(`document.querySelector('.bar.chosen').classList.contains('failed') === %v`, tt.red)
	}
	p.clean()
}
