package procmgr_test

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// reasoned is an error of a Manager elsewhere.
type reasoned struct{ error }

func (reasoned) Reason() string { return "the pod is gone" }

func TestReason(t *testing.T) {
	const advice = "; name one that exists and can be entered"
	l, err := proclocal.New(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, l.Close()) })
	missing := filepath.Join(t.TempDir(), "missing")
	_, start := l.Start(t.Context(), procmgr.StartRequest{ID: "my-id", Command: "true", WorkDir: missing})
	_, empty := l.Start(t.Context(), procmgr.StartRequest{})
	_, output := l.Output(t.Context(), "my-id", procmgr.OutputRequest{})
	_, pattern := l.Chat("a").Output(t.Context(), "my-id", procmgr.OutputRequest{Until: "("})
	signal := l.Signal(t.Context(), "my-id", "stop")
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"nil", nil, ""},
		{"start", start, "no such directory: " + missing + advice},
		{"without an ID", empty, "the command is empty"},
		{"a sentinel alone", output, "no such process"},
		{"another sentinel alone", procmgr.ErrInvalid, "invalid request"},
		{"signal", signal, `unknown signal "stop", use terminate, interrupt or kill`},
		{"words in front", fmt.Errorf("workspace w1: %w", start), "workspace w1: no such directory: " + missing + advice},
		{"words behind", fmt.Errorf("%w (workspace w1)", empty), "the command is empty (workspace w1)"},
		{"a method", reasoned{errors.New("podmgr: start: gone")}, "the pod is gone"},
		{"a method of what is wrapped", fmt.Errorf("cluster c1: %w", reasoned{errors.New("podmgr: start: gone")}), "cluster c1: the pod is gone"},
		{"the form alone", fmt.Errorf(`podmgr: start "a \"b\": c": the pod is gone: %w`, procmgr.ErrInvalid), "the pod is gone"},
		{"the form without an ID", xerrors.Errorf("podmgr: list: the pod is gone: %w", procmgr.ErrClosed), "the pod is gone"},
		{"a refusal of a guard", xerrors.Errorf("rm is not allowed here: %w", procmgr.ErrRefused), "rm is not allowed here"},
		{"a refusal with words in front", fmt.Errorf("workspace w1: %w", xerrors.Errorf("rm is not allowed here: %w", procmgr.ErrRefused)), "workspace w1: rm is not allowed here"},
		{"no form", errors.New("starting failed: invalid request"), "starting failed: invalid request"},
		{"another verb", errors.New(`podmgr: open "x": gone`), `podmgr: open "x": gone`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			require.Equal(t, tt.want, procmgr.Reason(tt.err))
		})
	}
	require.Contains(t, procmgr.Reason(pattern), "missing closing )")
	require.EqualError(t, start, `procmgr: start "my-id": no such directory: `+missing+advice+": invalid request")
	require.NotContains(t, fmt.Sprintf("%+v", output), ".go:")
}

// Reason leaves out the sentinel, so it has to know each of them.
func TestReasonKnowsEverySentinel(t *testing.T) {
	for _, sentinel := range []error{
		procmgr.ErrNotFound, procmgr.ErrNotRunning, procmgr.ErrClosed, procmgr.ErrInvalid, procmgr.ErrConflict, procmgr.ErrLimit,
		procmgr.ErrRefused, procmgr.ErrNotReady, procmgr.ErrUnknown, errors.ErrUnsupported,
	} {
		require.Equal(t, "why", procmgr.Reason(xerrors.Errorf("why: %w", sentinel)))
		require.Equal(t, sentinel.Error(), procmgr.Reason(xerrors.Errorf("procmgr: list: %w", sentinel)))
	}
}
