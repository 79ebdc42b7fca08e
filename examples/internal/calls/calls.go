// Package calls stands for a program that talks to a model: it reads the model's
// calls, and prints what the model reads.
package calls

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
)

// Serve carries out the calls of a model, until there are no more or ctx ends.
// Each line of in is a call, such as
//
//	{"name":"execute","arguments":{"command":"hostname"}}
//
// and each line of out is what the model reads. A call that is no JSON gets an
// error to read, and the next one is carried out.
func Serve(ctx context.Context, tools *toolset.Set, in io.Reader, out io.Writer) error {
	type read struct {
		line []byte
		err  error
	}
	lines := make(chan read)
	go func() { // ends with in or with ctx; nothing can give up a read of stdin, which ends with the program
		for from := bufio.NewReader(in); ; {
			line, err := from.ReadBytes('\n')
			select {
			case lines <- read{line, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	for ctx.Err() == nil {
		var next read
		select {
		case next = <-lines:
		case <-ctx.Done():
			return ctx.Err()
		}
		if len(bytes.TrimSpace(next.line)) > 0 {
			if _, err := fmt.Fprintln(out, answer(ctx, tools, next.line)); err != nil {
				return err
			}
		}
		switch {
		case errors.Is(next.err, io.EOF):
			return nil
		case next.err != nil:
			return xerrors.Errorf("read a call: %w", next.err)
		}
	}
	return ctx.Err()
}

// answer returns what the model reads after a call.
func answer(ctx context.Context, tools *toolset.Set, line []byte) string {
	var call struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if err := json.Unmarshal(line, &call); err != nil {
		text, _ := json.Marshal(map[string]any{"success": false, "error": "the call is no JSON, and nothing was done: " + err.Error()})
		return string(text)
	}
	return tools.Call(ctx, toolset.Call{Name: call.Name, Arguments: call.Arguments}).Content
}
