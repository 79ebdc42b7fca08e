package main

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// oneRun is a model that runs one command, and calls it again until it has run.
// Each run of the command leaves a line.
func oneRun(results []string) reply {
	if slices.ContainsFunc(results, func(r string) bool { return strings.HasPrefix(r, "exit code 0") }) {
		return reply{words: "It has run."}
	}
	return reply{words: "I run it.", tool: "execute", arguments: map[string]any{"command": theCommand}}
}

// theCommand prints a second time after its middle, so that half of it is also
// correct syntax.
const theCommand = "echo run >> ledger; echo this is the end of the command"

// status answers with an HTTP error.
func status(code int) failure {
	return func(w http.ResponseWriter, _ reply) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_, _ = fmt.Fprintf(w, `{"type":"error","error":{"type":"api_error","message":"status %d"}}`, code)
	}
}

// A failure is the way in which a request fails.
type failure func(w http.ResponseWriter, r reply)

// However the requests fail, the command runs once and whole, the model gets
// its result, and the turn ends.
func TestOnce(t *testing.T) {
	// The last n events of the answer are missing.
	broken := func(n int, end func(http.ResponseWriter)) failure {
		return func(w http.ResponseWriter, r reply) {
			events := eventsOf("call_broken", r)
			stream(w, events[:len(events)-n])
			end(w)
		}
	}
	cleanly := func(http.ResponseWriter) {}
	const begun, half, whole, nearly = 7, 4, 3, 1
	const first, second = 1, 2 // the request that fails; the second one comes after the command has run

	for _, test := range []struct {
		name    string
		request int
		fails   failure
	}{
		{"500", first, status(http.StatusInternalServerError)},
		{"500 afterwards", second, status(http.StatusInternalServerError)},
		{"429 afterwards", second, status(http.StatusTooManyRequests)},
		{"reset afterwards", second, func(w http.ResponseWriter, _ reply) { reset(w) }},
		{"reset in mid-stream", first, broken(begun, reset)},
		{"reset in mid-stream afterwards", second, broken(begun, reset)},
		{"error event in mid-stream afterwards", second, broken(begun, func(w http.ResponseWriter) { stream(w, []string{overloaded}) })},
		{"cut within the arguments", first, broken(half, cleanly)},
		{"reset within the arguments", first, broken(half, reset)},
		{"cut after the arguments", first, broken(whole, cleanly)},
		{"reset before the last event", first, broken(nearly, reset)},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel() // fantasy waits 5 s before it asks again
			s := newStage(t, oneRun)
			s.server.fail = func(n int, w http.ResponseWriter, r reply) bool {
				if n == test.request {
					test.fails(w, r)
				}
				return n == test.request
			}
			require.NoError(t, s.session.turn(t.Context(), "Run it."), s.out)
			s.requireOnce(t)
		})
	}
}

// If fantasy gives up, no result is lost: the next turn goes on.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	s := newStage(t, oneRun)
	fails := status(http.StatusInternalServerError)
	s.server.fail = func(n int, w http.ResponseWriter, r reply) bool {
		if n == 2 {
			fails(w, r)
		}
		return n == 2
	}
	s.session.maxRetries = new(0)
	require.ErrorContains(t, s.session.turn(t.Context(), "Run it."), "500")
	require.NotContains(t, s.out.String(), "It has run.")
	require.NoError(t, s.session.turn(t.Context(), ""))
	s.requireOnce(t)
	require.Equal(t, 3, s.server.asked())

	require.NoError(t, s.session.turn(t.Context(), ""), "there is nothing to go on with")
	require.Equal(t, 3, s.server.asked())
}

// requireOnce fails unless the command has run once and whole, and the model
// knows that.
func (s stage) requireOnce(t *testing.T) {
	t.Helper()
	require.Contains(t, s.out.String(), "It has run.")
	require.Equal(t, "run\n", s.read(t, "ledger"))
	page, err := s.manager.List(t.Context(), procmgr.ListRequest{})
	processes := page.Processes
	require.NoError(t, err)
	require.Len(t, processes, 1)
	require.Equal(t, theCommand, processes[0].Command)
	results := resultsIn(t, s.server.request(-1))
	require.Contains(t, results[len(results)-1], "this is the end of the command")
}
