//go:build unix

package prochttp_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// withBases serves a Local whose handler accepts what commands start from.
func withBases(t *testing.T) *prochttp.Client {
	return newClient(t, serve(t, newKeeperHandler(t, newLocal(t, nil), nil)), nil)
}

// What a command starts from is that of the program that starts it, and not of
// the one that runs it. Without it, the server's own counts.
func TestBase(t *testing.T) {
	t.Setenv("OF_THE_SERVER", "yes")
	c := withBases(t)
	dir := t.TempDir()
	base := &baseenv.Base{
		Env:      []string{"PATH=/usr/bin:/bin", "MINE=a=b\n", "RAW=\xff", "TOOLPROC_PROCESS_ID=forged", "PWD=/forged"},
		Withheld: []string{"MY_TOKEN"},
		Dir:      dir,
	}
	out, err := c.OfKeeper(base).Chat("a").Start(t.Context(), procmgr.StartRequest{
		ID: "first", Command: `echo "$MINE,$RAW,$OF_THE_SERVER,$MY_TOKEN,$TOOLPROC_PROCESS_ID,$PWD"; pwd`, Wait: long,
	})
	require.NoError(t, err)
	require.Equal(t, "a=b\n,,,,first,"+dir+"\n"+dir+"\n", out.Text)
	require.Equal(t, []string{"MY_TOKEN", "RAW"}, out.Withheld)

	out = run(t, c, `echo "$OF_THE_SERVER"`)
	require.Equal(t, "yes\n", out.Text)
}

// bySum returns an environment that may travel by its sum.
func bySum(env ...string) *baseenv.Base {
	env = append(env, "PATH=/usr/bin:/bin")
	b := &baseenv.Base{Env: env, Dir: "/"}
	b.Sum = b.Digest()
	return b
}

// An environment travels once. After that its sum does, and it is the one of that
// sum whatever others came between. A server that has never seen it gets it at
// once, in the same call.
func TestBaseBySum(t *testing.T) {
	var bodies []string
	record := func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			if r.URL.Path == "/start" {
				bodies = append(bodies, string(body))
			}
			r.Body = io.NopCloser(bytes.NewReader(body))
			next.ServeHTTP(w, r)
		})
	}
	host := newLocal(t, nil)
	var handler http.Handler
	c := newClient(t, serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { record(handler).ServeHTTP(w, r) })), nil)
	another := func() {
		handler = newKeeperHandler(t, host, nil)
	}
	start := func(base *baseenv.Base, want string, requests int) {
		t.Helper()
		bodies = nil
		out, err := c.OfKeeper(base).Start(t.Context(), procmgr.StartRequest{Command: "echo $MINE", Wait: long})
		require.NoError(t, err)
		require.False(t, out.Attached)
		require.Equal(t, want+"\n", out.Text)
		require.Len(t, bodies, requests)
		require.NotContains(t, bodies[0], "MINE=")
	}
	another()
	one, two := bySum("MINE=one"), bySum("MINE=two")
	start(one, "one", 2)
	start(two, "two", 2)
	for range 2 {
		start(one, "one", 1)
		start(two, "two", 1)
	}
	another() // it has another instance, and knows no environment
	start(two, "two", 3)
	start(one, "one", 2)
	start(two, "two", 1)
}

// What nobody has used for long is forgotten, and so is what is too large. The
// starts are the same, in two requests.
func TestBasesAreBounded(t *testing.T) {
	handler := newKeeperHandler(t, newLocal(t, nil), &prochttp.HandlerOptions{Token: token, MaxBody: 8 << 20})
	c := newClient(t, serve(t, handler), nil)
	start := func(env ...string) {
		t.Helper()
		out, err := c.OfKeeper(bySum(env...)).Start(t.Context(), procmgr.StartRequest{Command: "echo $MINE", Wait: long})
		require.NoError(t, err)
		require.Equal(t, strings.TrimPrefix(env[0], "MINE=")+"\n", out.Text)
	}
	for range 2 {
		for i := range 2 * prochttp.MaxBases {
			start(fmt.Sprint("MINE=", i))
			if i%8 == 0 {
				start("MINE=often") // it stays
			}
		}
	}
	n, size, sums := prochttp.Bases(handler)
	require.Equal(t, prochttp.MaxBases, n)
	require.Less(t, size, 64*prochttp.MaxBases)
	require.Contains(t, sums, (&baseenv.Base{Env: []string{"MINE=often", "PATH=/usr/bin:/bin"}}).Digest())

	many := make([]string, 0, 11)
	for i := range 10 { // one string has at most 128 KiB on Linux
		many = append(many, fmt.Sprintf("LONG%d=%s", i, strings.Repeat("x", 60<<10)))
	}
	for i := range 4 { // 600 KiB each: there is room for one
		start(append([]string{fmt.Sprint("MINE=large", i)}, many...)...)
		n, size, _ = prochttp.Bases(handler)
		require.LessOrEqual(t, size, prochttp.MaxBaseBytes)
	}
	require.Less(t, n, prochttp.MaxBases)
	for range 2 {
		start(append([]string{"MINE=too large"}, append(many, many...)...)...)
	}
	_, size, sums = prochttp.Bases(handler)
	require.LessOrEqual(t, size, prochttp.MaxBaseBytes)
	require.NotContains(t, sums, (&baseenv.Base{Env: append(append([]string{"MINE=too large"}, append(many, many...)...), "PATH=/usr/bin:/bin")}).Digest())
}

// Different environments have different sums, however their bytes are divided.
func TestSumsOfBases(t *testing.T) {
	seen := make(map[string]bool)
	for _, lists := range [][2][]string{
		{}, {{""}}, {{}, {""}}, {{"", ""}}, {{"A=b"}}, {{"A=b", ""}}, {{"A=", "b"}}, {{"A=bC=d"}}, {{"A=b", "C=d"}},
		{{"C=d", "A=b"}}, {{"A=b"}, {"C=d"}}, {nil, {"A=b", "C=d"}}, {{"A=b\x03C=d"}}, {{strings.Repeat("x", 300)}},
	} {
		sum := (&baseenv.Base{Env: lists[0], Withheld: lists[1]}).Digest()
		require.Len(t, sum, 64)
		require.False(t, seen[sum], "%q", lists)
		seen[sum] = true
	}
}

// The base is no part of what an ID stands for: after a deployment it is another
// one, and a start that is asked for again is the same.
func TestBaseIsNotInTheFingerprint(t *testing.T) {
	c := withBases(t)
	req := procmgr.StartRequest{ID: "once", Command: "echo $SSH_AUTH_SOCK", WorkDir: ".", Wait: long}
	for i, socket := range []string{"/tmp/before", "/tmp/after"} {
		base := &baseenv.Base{Env: []string{"PATH=/usr/bin:/bin", "SSH_AUTH_SOCK=" + socket}, Dir: t.TempDir()}
		out, err := c.OfKeeper(base).Start(t.Context(), req)
		require.NoError(t, err)
		require.Equal(t, "/tmp/before\n", out.Text)
		require.Equal(t, i == 1, out.Attached)
	}
}

func TestBaseDirectory(t *testing.T) {
	c := withBases(t)
	home := t.TempDir()
	base := &baseenv.Base{Env: []string{"PATH=/usr/bin:/bin", "HOME=" + home}}
	out, err := c.OfKeeper(base).Start(t.Context(), procmgr.StartRequest{Command: "pwd", Wait: long})
	require.NoError(t, err)
	require.Equal(t, home+"\n", out.Text)
	require.Equal(t, "the program's own directory has gone", out.PassedOver)
}

// Everybody else's handler refuses a base, whoever the caller is.
func TestBaseRefused(t *testing.T) {
	c := overTCP(t, nil)
	base := &baseenv.Base{Env: []string{"LD_PRELOAD=x"}, Dir: "/"}
	_, err := c.OfKeeper(base).Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.ErrorContains(t, err, "for the socket of a keeper alone")

	handler := newKeeperHandler(t, newLocal(t, nil), nil)
	for name, body := range map[string]string{
		"no directory":       `{"id":"x","command":"true","base_env":["A=b"]}`,
		"relative directory": `{"id":"x","command":"true","base_dir":"a"}`,
		"NUL":                `{"id":"x","command":"true","base_dir":"/","base_env":["A=\u0000"]}`,
		"a sum alone":        `{"id":"x","command":"true","base_sum":"00"}`,
		"a sum of its own":   `{"id":"x","command":"true","base_dir":"/","base_sum":"00","base_env":["A=b"]}`,
		"a sum and names":    `{"id":"x","command":"true","base_dir":"/","base_sum":"00","base_withheld":["A"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			status, code := ask(t, handler, request(http.MethodPost, "/start", body))
			require.Equal(t, http.StatusBadRequest, status)
			require.Equal(t, "invalid", code)
		})
	}
}
