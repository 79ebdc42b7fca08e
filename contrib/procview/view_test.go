package procview_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/procview"
	"github.com/toolproc/toolproc/procmgr"
)

func TestNew(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	for name, tt := range map[string]struct {
		manager procmgr.Manager
		opts    *procview.Options
	}{
		"no options":                       {l, nil},
		"no token":                         {l, &procview.Options{ReadOnly: true}},
		"a token that no header can carry": {l, &procview.Options{Token: "a b"}},
		"no manager":                       {nil, &procview.Options{Token: "x"}},
	} {
		_, err := procview.New(tt.manager, tt.opts)
		require.ErrorIs(t, err, procmgr.ErrInvalid, name)
	}
	var made []string
	for range 2 {
		v, err := procview.New(l, &procview.Options{Loopback: true})
		require.NoError(t, err)
		made = append(made, v.URL("http://localhost/procs"))
		require.Regexp(t, `^http://localhost/procs/#token=[A-Z2-7]{26}$`, made[len(made)-1])
	}
	require.NotEqual(t, made[0], made[1])
	v, err := procview.New(l, &procview.Options{Token: "a+b%"})
	require.NoError(t, err)
	u, err := url.Parse(v.URL("http://h/x/#old"))
	require.NoError(t, err)
	require.Equal(t, "/x/", u.Path)
	values, err := url.ParseQuery(u.EscapedFragment())
	require.NoError(t, err)
	require.Equal(t, "a+b%", values.Get("token"))
}

// TestAdmit has who may ask for what.
func TestAdmit(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	id := start(t, l, "a", "echo secret; exec sleep 1000")
	_, base := serve(t, l, &procview.Options{Token: token, Hosts: []string{"build.corp"}})
	_, reads := serve(t, l, &procview.Options{Token: token, ReadOnly: true})
	bearer := "Bearer " + token
	signal := call{method: "POST", path: id + "/signal?chat=a", body: `{"signal":"interrupt"}`}
	for _, tt := range []struct {
		name string
		base string
		call call
		want int
	}{
		{"the list", base, call{path: "list"}, 200},
		{"without a token", base, call{path: "list", header: map[string]string{"Authorization": ""}}, 401},
		{"another token", base, call{path: id + "/output", header: map[string]string{"Authorization": bearer + "x"}}, 401},
		{"a token in the query", base, call{path: "list?token=" + token, header: map[string]string{"Authorization": ""}}, 401},
		{"a cookie", base, call{path: "list", header: map[string]string{"Authorization": "", "Cookie": "token=" + token}}, 401},
		{"the page without a token", base, call{header: map[string]string{"Authorization": ""}}, 200},
		{"its script", base, call{path: "page.js", header: map[string]string{"Authorization": ""}}, 200},
		{"the page for another host", base, call{host: "evil.example"}, 403},
		{"the list for another host", base, call{path: "list", host: "evil.example:80"}, 403},
		{"the list for a name of this one", base, call{path: "list", host: "build.corp"}, 200},
		{"another origin", base, call{path: "list", header: map[string]string{"Origin": "http://evil.example"}}, 403},
		{"no origin of a page", base, call{path: "list", header: map[string]string{"Origin": "null"}}, 403},
		{"another origin, and a signal", base, call{method: "POST", path: id + "/signal", body: signal.body, header: map[string]string{"Origin": "http://evil.example"}}, 403},
		{"another site", base, call{path: "stream", header: map[string]string{"Sec-Fetch-Site": "cross-site"}}, 403},
		{"another page of the site's domain", base, call{path: "list", header: map[string]string{"Sec-Fetch-Site": "same-site"}}, 403},
		{"the same origin", base, call{path: "list", header: map[string]string{"Sec-Fetch-Site": "same-origin"}}, 200},
		{"a preflight", base, call{method: "OPTIONS", path: "list"}, 405},
		{"a signal by GET", base, call{path: id + "/signal"}, 405},
		{"a signal that there is not", base, call{method: "POST", path: id + "/signal?chat=a", body: `{"signal":"stop"}`}, 400},
		{"no signal", base, call{method: "POST", path: id + "/signal?chat=a", body: `{}`}, 400},
		{"a signal to a process of another chat", base, call{method: "POST", path: id + "/signal?chat=b", body: `{"signal":"kill"}`}, 404},
		{"a process of another chat", base, call{path: id + "/output?chat=b"}, 404},
		{"no process", base, call{path: "nothing/output"}, 404},
		{"no such path", base, call{path: id + "/nothing"}, 404},
		{"a signal to one that only shows", reads, signal, 404},
		{"what that one shows", reads, call{path: id + "/output"}, 200},
		{"a signal", base, signal, 200},
	} {
		t.Run(tt.name, func(t *testing.T) {
			status, body := tt.call.text(t, tt.base)
			require.Equal(t, tt.want, status, body)
			if tt.want >= 400 {
				require.NotContains(t, body, "secret")
			}
		})
	}
}

// The page of a chat's Manager has that chat alone, whatever a request asks for.
func TestChat(t *testing.T) {
	t.Parallel()
	l := newLocal(t)
	own, other := start(t, l, "a", "echo mine; exec sleep 1000"), start(t, l, "b", "echo secret; exec sleep 1000")
	_, base := serve(t, l.Chat("a"), &procview.Options{Token: token})
	_, list := call{path: "list"}.text(t, base)
	require.Contains(t, list, own)
	require.NotContains(t, list, other)
	for _, query := range []string{"", "?chat=a"} {
		require.Eventually(t, func() bool {
			status, text := call{path: own + "/output" + query}.text(t, base)
			return status == 200 && text == "mine\n"
		}, long, time.Millisecond)
	}
	for _, path := range []string{"/output", "/output?chat=b", "/part?chat=b&to=9"} {
		status, body := call{path: other + path}.text(t, base)
		require.Equal(t, 404, status, body)
	}
	status, _ := call{method: "POST", path: other + "/signal?chat=b", body: `{"signal":"kill"}`}.text(t, base)
	require.Equal(t, 404, status)
	status, _ = call{method: "POST", path: "never/signal?chat=a", body: `{"signal":"kill"}`}.text(t, base)
	require.Equal(t, 404, status)
	_, err := l.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "never", Command: "exit 0"})
	require.NoError(t, err, "a request of the page spends no ID")
	status, body := call{method: "POST", path: own + "/signal?chat=a", body: `{"signal":"kill"}`}.text(t, base)
	require.Equal(t, 200, status)
	require.Contains(t, body, `"state":"exited"`)
}

// TestLoopback has whom a View of this machine alone answers.
func TestLoopback(t *testing.T) {
	t.Parallel()
	v, err := procview.New(newLocal(t), &procview.Options{Loopback: true, Hosts: []string{"box"}, Token: token})
	require.NoError(t, err)
	for _, tt := range []struct {
		from, host string
		want       int
	}{
		{"127.0.0.1:9", "localhost:80", 200},
		{"127.0.0.1:9", "127.0.0.1", 200},
		{"[::1]:9", "[::1]:80", 200},
		{"127.0.0.1:9", "box", 200},
		{"10.0.0.1:9", "localhost", 403},
		{"127.0.0.1:9", "10.0.0.1", 403},
		{"@", "localhost", 403},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/list", nil)
		r.RemoteAddr, r.Host = tt.from, tt.host
		r.Header.Set("Authorization", "Bearer "+token)
		w := httptest.NewRecorder()
		v.ServeHTTP(w, r)
		require.Equal(t, tt.want, w.Code, "%+v", tt)
	}
}

// TestPage checks what the page is made of.
func TestPage(t *testing.T) {
	t.Parallel()
	_, base := serve(t, newLocal(t), &procview.Options{Token: token})
	lines := 0
	for _, name := range []string{"", "page.css", "page.js"} {
		res := call{path: name, header: map[string]string{"Authorization": ""}}.do(t.Context(), t, base)
		require.NoError(t, res.Body.Close())
		_, text := call{path: name}.text(t, base)
		lines += strings.Count(text, "\n")
		for field, want := range map[string]string{
			"X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "no-referrer",
		} {
			require.Equal(t, want, res.Header.Get(field))
		}
		require.Empty(t, res.Cookies())
		policy := res.Header.Get("Content-Security-Policy")
		require.Contains(t, policy, "default-src 'none'")
		require.Contains(t, policy, "frame-ancestors 'none'")
		require.NotContains(t, policy, "unsafe")
		require.NotContains(t, policy, "*")
		require.NotRegexp(t, `innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|\son\w+="|style="|<script>|<style|https?://[a-z]`, text, name)
	}
	require.LessOrEqual(t, lines, 840, "HTML, CSS and script are written by hand, and stay short enough to be read")
}

// The command in docs/view.md prints the output of a process.
func TestCurl(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "view.md"))
	require.NoError(t, err)
	command := regexp.MustCompile(`(?m)^\$ curl (.*)$`).FindSubmatch(page)
	require.NotNil(t, command)
	l := newLocal(t)
	_, base := serve(t, l, &procview.Options{Token: token})
	id := start(t, l, "a", "echo hello")
	ended(t, l.Chat("a"), id)
	arguments := strings.NewReplacer("$TOKEN", token, "http://127.0.0.1:8080/procs/", base, "npc5orns6a", id).Replace(string(command[1]))
	out, err := exec.CommandContext(t.Context(), "sh", "-c", "curl -sS "+arguments).Output()
	require.NoError(t, err, arguments)
	require.Equal(t, "hello\n", string(out))
}

// A stream that is open does not hold up the end.
func TestServe(t *testing.T) {
	l := newLocal(t)
	server, err := procview.Serve(t.Context(), l, "127.0.0.1:0")
	require.NoError(t, err)
	base, token, _ := strings.Cut(server.URL, "#token=")
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"stream", nil)
	require.NoError(t, err)
	req.Header.Set("Authorization", "Bearer "+token)
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	require.Equal(t, http.StatusOK, res.StatusCode)
	began := time.Now()
	require.NoError(t, server.Close())
	require.Less(t, time.Since(began), 4*time.Second)

	_, err = procview.Serve(t.Context(), l, "256.0.0.1:0")
	require.ErrorContains(t, err, "procview: serve: ")
}
