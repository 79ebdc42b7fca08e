package browser_test

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/procview"
	"github.com/toolproc/toolproc/procmgr"
)

// media sets a feature of the page's media.
func media(name, value string) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: name, Value: value}},
		})
		return err
	})
}

// script runs a script that is too long for a message of a failure.
func script(text string) chromedp.Action[chromedp.Void] {
	return chromedp.Evaluate[chromedp.Void](text)
}

// a project has processes of all kinds.
func project(t testing.TB) (*site, *toolset.Set) {
	l := newLocal(t)
	s := newSite(t, l, &procview.Options{Loopback: true})
	set, err := toolset.New(toolset.Static(l.Chat("fix the flaky test")), &toolset.Options{OnResult: s.view.Result, Input: true, Approve: func(_ context.Context, q toolset.Question) (toolset.Verdict, error) {
		return toolset.Verdict{Deny: strings.HasPrefix(q.Command, "git push"), Reason: "the user said no"}, nil
	}})
	require.NoError(t, err)
	call(t, set, "execute", map[string]any{"command": "git status --short"})
	call(t, set, "execute", map[string]any{"command": "sleep 1; echo '--- FAIL: TestRetry (0.31s)'; echo '    retry_test.go:41: attempt 3 of 3: connection refused'; echo FAIL; exit 1"})
	call(t, set, "execute", map[string]any{"command": "python3 -u -m http.server 0 --bind 127.0.0.1", "run_in_background": true})
	call(t, set, "execute", map[string]any{"command": "for i in $(seq 1 3000); do echo \"2026-03-14 09:26:53 compile pkg/worker_$i.go\"; [ $i = 1700 ] && echo 'error: pkg/worker_1700.go:12:4: undefined: retryCount'; done; echo done; (sleep 300 &) ; sleep 0.5", "max_output": 900})
	call(t, set, "execute", map[string]any{"command": "sleep 2; echo one more test run; exit 0", "timeout": "5s"})
	call(t, set, "execute", map[string]any{"command": "git push --force origin main"})
	call(t, set, "process_list", map[string]any{})
	s.view.Result(t.Context(), toolset.Call{Name: "edit_files", Arguments: []byte(`{"path":"retry_test.go"}`)}, toolset.Result{Content: `{"success":true,"places":1,"output":"retry_test.go\n41\tfor attempt := range 5 {\n"}`})
	_, err = l.Chat("release notes").Start(t.Context(), procmgr.StartRequest{Command: "npm run build -- --watch 2>/dev/null; sleep 1000"})
	require.NoError(t, err)
	_, err = l.Chat("release notes").Start(t.Context(), procmgr.StartRequest{Command: "printf '\\033[2J\\033[3;5Hlines: 42\\033[5;5H[####      ] 40 %%'; sleep 1000", Stdin: procmgr.StdinTerminal})
	require.NoError(t, err)
	return s, set
}
