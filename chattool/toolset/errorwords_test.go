package toolset_test

import (
	"context"
	"encoding/json"
	"errors"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

// givenArguments are the arguments that a note tells a model to call with.
var givenArguments = regexp.MustCompile(`\{"process_id":[^}]*\}`)

// requirePlain fails if a result has words that are for programs: a package,
// the text of a sentinel, or a process ID as an error quotes it.
func requirePlain(t *testing.T, content string, ids ...string) {
	t.Helper()
	var got struct{ Error, Note string }
	require.NoError(t, json.Unmarshal([]byte(content), &got), content)
	said := got.Error + "\n" + givenArguments.ReplaceAllString(got.Note, "")
	for _, word := range []string{"procmgr", "prochttp", "invalid request", "%!", ".go:"} {
		require.NotContains(t, said, word)
	}
	for _, id := range ids {
		require.NotContains(t, said, `"`+id+`"`)
	}
}

// failures are errors that the calls of a Manager may return.
func failures(call string) []error {
	all := []error{nil, errors.New("connection reset"), context.DeadlineExceeded, context.Canceled}
	for _, sentinel := range []error{
		procmgr.ErrNotFound, procmgr.ErrNotRunning, procmgr.ErrClosed, procmgr.ErrInvalid,
		procmgr.ErrConflict, procmgr.ErrLimit, procmgr.ErrUnknown,
	} {
		all = append(all,
			xerrors.Errorf(`procmgr: %s "p1": %w`, call, sentinel),
			xerrors.Errorf(`prochttp: %s "p1": a good reason: %w`, call, sentinel))
	}
	return all
}

// Whatever error a manager or a resolver returns, and whether or not the call is canceled,
// the model reads no word that is for programs, and the host's names of the tools alone.
func TestErrorsAreForAModel(t *testing.T) {
	t.Parallel()
	var current *fake
	opts := fixed()
	opts.Names = hostNames
	ask := func(set *toolset.Set, ctx context.Context, tool, arguments string) {
		content := set.Call(ctx, toolset.Call{Name: hostNames[tool], Arguments: json.RawMessage(arguments)}).Content
		requirePlain(t, content, "p1")
		if ownName.MatchString(content) {
			t.Error("a tool by another name than the host's: " + content)
		}
	}
	set := newSet(func(context.Context) (procmgr.Manager, error) { return current, nil }, opts)
	call := func(m *fake, canceled bool, tool, arguments string) {
		current = m
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		if canceled {
			start, output := m.start, m.output
			m.start = func(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
				cancel()
				return start(ctx, req)
			}
			m.output = func(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
				cancel()
				return output(ctx, id, req)
			}
		}
		ask(set, ctx, tool, arguments)
	}
	begun := []procmgr.Output{{}, {Process: procmgr.Process{ID: "p1"}}, running("p1", "so far"), exited("p1", 1, "")}
	for _, output := range failures("output") {
		for _, found := range begun[1:] {
			m := func(start, signal error, out procmgr.Output) *fake {
				return &fake{
					start:  func(context.Context, procmgr.StartRequest) (procmgr.Output, error) { return out, start },
					output: func(context.Context, string, procmgr.OutputRequest) (procmgr.Output, error) { return found, output },
					list:   func(context.Context) ([]procmgr.Process, error) { return nil, output },
					signal: func(context.Context, string, procmgr.Signal) error { return signal },
				}
			}
			for _, canceled := range []bool{false, true} {
				for _, start := range failures("start") {
					for _, out := range begun {
						call(m(start, nil, out), canceled, "execute", `{"command":"x"}`)
						call(m(start, nil, out), canceled, "execute", `{"command":"x","run_in_background":true}`)
					}
				}
				for _, signal := range failures("signal") {
					call(m(nil, signal, running("p1", "")), canceled, "execute", `{"command":"x"}`)
					call(m(nil, signal, running("p1", "")), canceled, "process_signal", `{"process_id":"p1","signal":"terminate"}`)
					call(m(nil, signal, running("p1", "")), canceled, "process_signal", `{"process_id":"p1","signal":"kill"}`)
				}
				call(m(nil, nil, found), canceled, "process_output", `{"process_id":"p1","wait_for":"x"}`)
				call(m(nil, nil, found), canceled, "process_list", `{}`)
			}
		}
	}
	for _, err := range failures("start") {
		for tool, arguments := range anyCall {
			ask(newSet(func(context.Context) (procmgr.Manager, error) { return nil, err }, opts), t.Context(), tool, arguments)
		}
	}
}
