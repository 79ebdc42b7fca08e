package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

const (
	maxTries  = 5        // requests for one answer
	maxAnswer = 32 << 20 // bytes of one
	maxQuoted = 500      // bytes of an error that are shown
)

// A loop has a model work: it asks the model, carries out the calls in its
// answer, sends the results and asks again, until an answer calls nothing.
type loop struct {
	url, key, model string       // where the model is, such as http://127.0.0.1:8080/v1
	client          *http.Client // nil is http.DefaultClient
	firstPause      time.Duration
	maxTurns        int

	tools     *toolset.Set
	functions []function      // the tools as the endpoint wants them
	parallel  map[string]bool // by a tool's name, whether its calls may run beside others
	stop      *interrupter
	show      *transcript

	messages []any // the conversation; it only grows
}

// The parts of a chat completion that a loop needs.
type (
	function struct {
		Type     string `json:"type"`
		Function struct {
			Name        string          `json:"name"`
			Description string          `json:"description"`
			Parameters  json.RawMessage `json:"parameters"`
		} `json:"function"`
	}
	message struct {
		Role       string `json:"role"`
		Content    string `json:"content"`
		ToolCallID string `json:"tool_call_id,omitempty"`
	}
	call struct {
		ID       string `json:"id"`
		Function struct {
			Name      string          `json:"name"`
			Arguments json.RawMessage `json:"arguments"` // a string with JSON in it, from some servers the object itself
		} `json:"function"`
	}
	answer struct {
		finish string
		words  string
		calls  []call
		// raw is the message as it came, and goes back like that: what else is
		// in it, such as signatures of thoughts, some endpoints insist on.
		raw json.RawMessage
	}
)

// newLoop returns a loop whose commands run on a manager. The caller fills in
// where the model is.
func newLoop(manager procmgr.Manager, stop *interrupter, show *transcript) *loop {
	l := &loop{firstPause: time.Second, maxTurns: 50, parallel: make(map[string]bool), stop: stop, show: show}
	l.tools = toolset.New(toolset.Static(manager), &toolset.Options{
		// A process has the ID of its call, see carryOut.
		ProcessID: func(_ context.Context, c toolset.Call) string { return c.ID },
	})
	for _, def := range l.tools.Definitions() {
		f := function{Type: "function"}
		f.Function.Name, f.Function.Description, f.Function.Parameters = def.Name, def.Description, def.Schema
		l.functions = append(l.functions, f)
		l.parallel[def.Name] = def.Parallel
	}
	return l
}

// run works on a prompt until the model has nothing more to call.
func (l *loop) run(ctx context.Context, prompt string) error {
	l.messages = append(l.messages, message{Role: "user", Content: prompt})
	for range l.maxTurns {
		a, err := l.ask(ctx)
		if err != nil {
			return err
		}
		l.show.words(a.words)
		place := len(l.messages)
		l.messages = append(l.messages, a.raw)
		if len(a.calls) == 0 {
			if a.finish != "stop" && a.finish != "" {
				return xerrors.Errorf("the model's last answer is not complete: finish_reason %q", a.finish)
			}
			return nil
		}
		for _, result := range l.carryOut(ctx, place, a) {
			l.messages = append(l.messages, result)
		}
	}
	return xerrors.Errorf("the model has not come to an end in %d turns", l.maxTurns)
}

// carryOut makes the calls of the answer at a place in the conversation, and
// returns their results in the same order. Those that only read run beside the
// others; the others run one after the other, since they may depend on it.
//
// The place makes the IDs of the calls, and so of the processes: whoever carries
// out the same answer again, since it has lost the results, gets the processes
// of the first time and runs nothing twice. The endpoint's own IDs will not do.
// Some endpoints number the calls of each answer from 0 again.
func (l *loop) carryOut(ctx context.Context, place int, a answer) []message {
	ctx, done := l.stop.commands(ctx)
	defer done()
	results := make([]message, len(a.calls))
	var beside sync.WaitGroup // of this call; it waits for all
	for i, c := range a.calls {
		l.show.call(c)
		results[i] = message{Role: "tool", ToolCallID: c.ID}
		if a.finish == "length" || a.finish == "content_filter" {
			// A command that was cut is another command.
			results[i].Content = `{"success":false,"error":"not carried out, since your answer was cut off before its end; call again, with less at once"}`
			continue
		}
		work := func() {
			results[i].Content = l.tools.Call(ctx, toolset.Call{
				ID:        fmt.Sprintf("m%d-c%d", place, i),
				Name:      c.Function.Name,
				Arguments: c.Function.Arguments,
			}).Content
		}
		if l.parallel[c.Function.Name] {
			beside.Go(work)
		} else {
			work()
		}
	}
	beside.Wait()
	for _, result := range results {
		l.show.result(result.Content)
	}
	return results
}

// ask sends the conversation and returns the model's answer to it. Where that
// fails it tries again: nothing runs in here, and the results of what has run
// are in the conversation, so that no command runs twice.
func (l *loop) ask(ctx context.Context) (answer, error) {
	body, err := json.Marshal(map[string]any{"model": l.model, "messages": l.messages, "tools": l.functions})
	if err != nil {
		return answer{}, err
	}
	pause := l.firstPause
	for try := 1; ; try++ {
		a, err := l.post(ctx, body)
		var passing *passingError
		if err == nil || ctx.Err() != nil || try == maxTries || !errors.As(err, &passing) {
			return a, err
		}
		wait := max(pause, passing.after)
		l.show.retry(err, wait)
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return answer{}, ctx.Err()
		}
		pause *= 2
	}
}

// A passingError is one that may be gone at the next try.
type passingError struct {
	error
	after time.Duration // what the endpoint asks to wait
}

func (e *passingError) Unwrap() error { return e.error }

// post sends one request.
func (l *loop) post(ctx context.Context, body []byte) (answer, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, l.url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	if l.key != "" {
		req.Header.Set("Authorization", "Bearer "+l.key)
	}
	res, err := cmp.Or(l.client, http.DefaultClient).Do(req)
	if err != nil {
		return answer{}, &passingError{error: err}
	}
	defer res.Body.Close()
	data, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return answer{}, &passingError{error: xerrors.Errorf("the answer broke off: %w", err)}
	}
	if res.StatusCode != http.StatusOK {
		err = xerrors.Errorf("the endpoint answered %s: %.*s", res.Status, maxQuoted, bytes.TrimSpace(data))
		if res.StatusCode == http.StatusRequestTimeout || res.StatusCode == http.StatusTooManyRequests || res.StatusCode >= 500 {
			seconds, _ := strconv.Atoi(res.Header.Get("Retry-After")) // 0 where it has none, or a date
			err = &passingError{error: err, after: time.Duration(seconds) * time.Second}
		}
		return answer{}, err
	}
	return parse(data)
}

// parse reads a chat completion.
func parse(data []byte) (answer, error) {
	var completion struct {
		Choices []struct {
			Message      json.RawMessage `json:"message"`
			FinishReason string          `json:"finish_reason"`
		} `json:"choices"`
	}
	var said struct {
		Content   string `json:"content"`
		ToolCalls []call `json:"tool_calls"`
	}
	err := json.Unmarshal(data, &completion)
	if err == nil && len(completion.Choices) == 0 {
		err = errors.New("it has no choices")
	}
	if err == nil {
		err = json.Unmarshal(completion.Choices[0].Message, &said)
	}
	if err != nil {
		return answer{}, xerrors.Errorf("the endpoint's answer %.*q is no chat completion: %w", maxQuoted, data, err)
	}
	first := completion.Choices[0]
	return answer{finish: first.FinishReason, words: strings.TrimSpace(said.Content), calls: said.ToolCalls, raw: first.Message}, nil
}
