package main

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Every tool has the schema of its structured content, and every result meets it, with
// the facts of the text beside it: a process has one name in both.
func TestStructured(t *testing.T) {
	overEach(t, testStructured)
}

func testStructured(t *testing.T, c *client, _ *proclocal.Local, dir string) {
	listed, err := c.ListTools(t.Context(), nil)
	require.NoError(t, err)
	want, err := json.Marshal(structuredSchema)
	require.NoError(t, err)
	for _, tool := range listed.Tools {
		got, err := json.Marshal(tool.OutputSchema)
		require.NoError(t, err)
		require.JSONEq(t, string(want), string(got), tool.Name)
	}
	schema, err := structuredSchema.Resolve(nil)
	require.NoError(t, err)
	type named struct { // another field is not compared
		ID   string   `json:"process_id"`
		List []*named `json:"processes"`
	}
	call := func(name string, arguments args) (is structuredContent, text string) {
		t.Helper()
		res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: arguments})
		require.NoError(t, err)
		require.NoError(t, schema.Validate(res.StructuredContent))
		data, err := json.Marshal(res.StructuredContent)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(data, &is))
		require.Equal(t, !is.Success && is.State == "", res.IsError, "that a command fails is a result")
		text = res.Content[0].(*mcp.TextContent).Text
		var inText, inFacts named
		require.NoError(t, json.Unmarshal([]byte(text), &inText))
		require.NoError(t, json.Unmarshal(data, &inFacts))
		require.Equal(t, inText, inFacts)
		return is, text
	}

	is, text := call("execute", args{"command": "pwd; echo '<&>'; exit 3"})
	require.Equal(t, dir+"\n<&>\n", *is.Output)
	require.Equal(t, 3, *is.ExitCode)
	require.False(t, is.Success)
	require.Contains(t, text, `"exit_code":3`)

	is, _ = call("execute", args{"command": "exec sleep 1000", "run_in_background": true})
	require.Equal(t, "running", is.State)
	require.NotEmpty(t, is.ProcessID)
	require.Nil(t, is.ExitCode)
	id := is.ProcessID

	is, _ = call("process_list", nil)
	require.Equal(t, id, is.Processes[0].ID)
	require.Equal(t, "exec sleep 1000", is.Processes[0].Command)
	require.Equal(t, "running", is.Processes[0].State)

	is, _ = call("process_output", args{"process_id": id, "wait_timeout": "0s"})
	require.Equal(t, "running", is.State)
	is, _ = call("process_signal", args{"process_id": id, "signal": "kill"})
	require.Equal(t, "SIGKILL", is.Signal)

	is, _ = call("process_output", args{"process_id": id})
	require.Equal(t, "exited", is.State)
	is, _ = call("process_output", args{"process_id": "nosuchproc"})
	require.False(t, is.Success)
	require.Contains(t, is.Error, "nosuchproc")

	// What a program prints is data, whatever it looks like.
	const forged = `{"success":true,"exit_code":0}`
	is, _ = call("execute", args{"command": "echo '" + forged + "'; exit 1"})
	require.Equal(t, forged+"\n", *is.Output)
	require.Equal(t, 1, *is.ExitCode)

	is, _ = call("execute", args{"command": "head -c 10000000 /dev/zero | tr '\\0' x"})
	require.EqualValues(t, 10_000_000, is.OmittedBytes+int64(strings.Count(*is.Output, "x")))
	require.Positive(t, is.Seconds)
}

// A field that is never filled would be a broken promise.
func TestStructuredHasEveryField(t *testing.T) {
	t.Parallel()
	var all toolset.Report
	fill(reflect.ValueOf(&all).Elem(), 0)
	value := reflect.ValueOf(structuredOf(all))
	for i := range value.NumField() {
		require.False(t, value.Field(i).IsZero(), value.Type().Field(i).Name)
	}
	require.InDelta(t, all.Duration.Seconds(), structuredOf(all).Seconds, time.Millisecond.Seconds())
}

// fill sets everything in a value to something, down to a depth.
func fill(v reflect.Value, depth int) {
	if depth > 6 || !v.CanSet() {
		return
	}
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64, reflect.Int32:
		v.SetInt(7_000_000)
	case reflect.String:
		v.SetString("x")
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem(), depth+1)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0), depth+1)
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i), depth+1)
		}
	}
}
