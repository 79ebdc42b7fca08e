//go:build unix

package prochttp_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/prochttp"
)

// withBases serves a Local whose handler accepts what commands start from.
func withBases(t *testing.T) *prochttp.Client {
	handler := newHandler(t, newLocal(t, nil), &prochttp.HandlerOptions{Token: token, Context: baseenv.Accept(t.Context())})
	return newClient(t, serve(t, handler), nil)
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
	ctx := baseenv.With(t.Context(), base)
	out, err := c.Chat("a").Start(ctx, procmgr.StartRequest{
		ID: "first", Command: `echo "$MINE,$RAW,$OF_THE_SERVER,$MY_TOKEN,$TOOLPROC_PROCESS_ID,$PWD"; pwd`, Wait: long,
	})
	require.NoError(t, err)
	require.Equal(t, "a=b\n,,,,first,"+dir+"\n"+dir+"\n", out.Text)
	require.Equal(t, []string{"MY_TOKEN", "RAW"}, out.Withheld)

	out = run(t, c, `echo "$OF_THE_SERVER"`)
	require.Equal(t, "yes\n", out.Text)
}

// The base is no part of what an ID stands for: after a deployment it is another
// one, and a start that is asked for again is the same.
func TestBaseIsNotInTheFingerprint(t *testing.T) {
	c := withBases(t)
	req := procmgr.StartRequest{ID: "once", Command: "echo $SSH_AUTH_SOCK", WorkDir: ".", Wait: long}
	for i, socket := range []string{"/tmp/before", "/tmp/after"} {
		base := &baseenv.Base{Env: []string{"PATH=/usr/bin:/bin", "SSH_AUTH_SOCK=" + socket}, Dir: t.TempDir()}
		out, err := c.Start(baseenv.With(t.Context(), base), req)
		require.NoError(t, err)
		require.Equal(t, "/tmp/before\n", out.Text)
		require.Equal(t, i == 1, out.Attached)
	}
}

func TestBaseDirectory(t *testing.T) {
	c := withBases(t)
	home := t.TempDir()
	base := &baseenv.Base{Env: []string{"PATH=/usr/bin:/bin", "HOME=" + home}}
	out, err := c.Start(baseenv.With(t.Context(), base), procmgr.StartRequest{Command: "pwd", Wait: long})
	require.NoError(t, err)
	require.Equal(t, home+"\n", out.Text)
	require.Equal(t, "the program's own directory has gone", out.PassedOver)
}

// Everybody else's handler refuses a base, whoever the caller is.
func TestBaseRefused(t *testing.T) {
	c := overTCP(t, nil)
	base := &baseenv.Base{Env: []string{"LD_PRELOAD=x"}, Dir: "/"}
	_, err := c.Start(baseenv.With(t.Context(), base), procmgr.StartRequest{ID: "x", Command: "true"})
	require.ErrorIs(t, err, procmgr.ErrInvalid)
	require.ErrorContains(t, err, "for the socket of a keeper alone")

	handler := newHandler(t, newLocal(t, nil), &prochttp.HandlerOptions{Token: token, Context: baseenv.Accept(t.Context())})
	for name, body := range map[string]string{
		"no directory":       `{"id":"x","command":"true","base_env":["A=b"]}`,
		"relative directory": `{"id":"x","command":"true","base_dir":"a"}`,
		"NUL":                `{"id":"x","command":"true","base_dir":"/","base_env":["A=\u0000"]}`,
	} {
		t.Run(name, func(t *testing.T) {
			status, code := ask(t, handler, request(http.MethodPost, "/start", body))
			require.Equal(t, http.StatusBadRequest, status)
			require.Equal(t, "invalid", code)
		})
	}
}
