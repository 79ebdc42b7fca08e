//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A peer speaks to the program over stdio without an SDK.
type peer struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

// dial starts the program and begins a session. dir is where its commands run. If the
// test fails, the end of the pipe ends the program.
func dial(t *testing.T) (w *peer, dir string) {
	t.Helper()
	dir = t.TempDir()
	cmd := program(t, dir)
	stdin, stdout, stderr := piped(t, cmd)
	t.Cleanup(func() {
		require.NoError(t, stdin.Close())
		require.NoError(t, cmd.Wait(), stderr)
	})
	w = &peer{t, stdin, bufio.NewReaderSize(stdout, 1<<20)}
	w.send(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"peer","version":"1"}}}`)
	require.Equal(t, "0", string(w.next().ID))
	w.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	return w, dir
}

func (w *peer) send(lines ...string) {
	w.t.Helper()
	_, err := io.WriteString(w.in, strings.Join(lines, "\n")+"\n")
	require.NoError(w.t, err)
}

// An answered is an answer of the program.
type answered struct {
	ID     json.RawMessage
	Error  *struct{ Code int }
	Result struct {
		StructuredContent struct {
			ProcessID string `json:"process_id"`
		}
	}
}

// next reads the next answer.
func (w *peer) next() (a answered) {
	w.t.Helper()
	line, err := w.out.ReadBytes('\n')
	require.NoError(w.t, err, "the server has ended")
	require.NoError(w.t, json.Unmarshal(line, &a), "%s", line)
	return a
}

// execute makes a call with the ID.
func (w *peer) execute(id int, arguments args) {
	w.t.Helper()
	data, err := json.Marshal(arguments)
	require.NoError(w.t, err)
	w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"execute","arguments":%s}}`, id, data))
}

// A line that is no message is answered with an error, and takes no process along.
func TestMalformedLine(t *testing.T) {
	t.Parallel()
	w, dir := dial(t)
	w.execute(1, args{"command": "echo $$ > p && mv p pid; exec sleep 1000", "run_in_background": true})
	require.NotEmpty(t, w.next().Result.StructuredContent.ProcessID)
	running := pid(t, filepath.Join(dir, "pid"))
	const ping = `{"jsonrpc":"2.0","id":7,"method":"ping"}`
	for name, line := range map[string]string{
		"a BOM":               "\ufeff" + ping,
		"two messages":        ping + ping,
		"a batch":             "[" + ping + "]",
		"an empty batch":      "[]",
		"no JSON":             "hello",
		"cut off":             `{"jsonrpc":"2.0","id":7`,
		"a byte":              "\x00",
		"a long line":         `{"jsonrpc":"2.0","id":7,"method":"` + strings.Repeat("x", 17<<20) + `"}`,
		"no message":          `{}`,
		"another version":     `{"jsonrpc":"1.0","id":7,"method":"ping"}`,
		"an ID of a bad type": `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
	} {
		w.send(line)
		a := w.next()
		require.NotNil(t, a.Error, name)
		require.Equal(t, -32700, a.Error.Code, name)
		require.Equal(t, "null", string(a.ID), name)
	}
	w.send("", " \r", ping+"\r")
	require.Equal(t, "7", string(w.next().ID), "an empty line is none")
	require.True(t, alive(running), "the process goes on")
}

// A request that the client has canceled gets no answer, and its command is stopped.
func TestCanceledUnanswered(t *testing.T) {
	t.Parallel()
	w, dir := dial(t)
	for id, name := range map[int]string{1: "one", 2: "two"} {
		w.execute(id, args{"command": fmt.Sprintf("echo $$ > p && mv p %s; exec sleep 1000", name), "timeout": "1h"})
		waitForFile(t, filepath.Join(dir, name))
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`, id))
		for process := pid(t, filepath.Join(dir, name)); alive(process); {
			w.execute(10+id, args{"command": "true"})
			require.Equal(t, fmt.Sprint(10+id), string(w.next().ID), "and no answer to %d", id)
		}
	}
	// An ID that was canceled can be used again, and a cancel that comes late is none.
	w.send(`{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	require.Equal(t, "1", string(w.next().ID))
	w.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, `{"jsonrpc":"2.0","id":1,"method":"ping"}`)
	require.Equal(t, "1", string(w.next().ID))
}
