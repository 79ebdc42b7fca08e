package procotel_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
)

// The program on the page, copied to a module outside of the repository, sends the spans
// of a call and of its process to a collector.
func TestReadme(t *testing.T) {
	_, program := testenv.Copied(t)
	r := newReceiver(t)
	cmd := exec.CommandContext(t.Context(), program)
	cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+strings.TrimSuffix(r.url, "/v1/traces"), "OTEL_SERVICE_NAME=page")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), `"output":"it runs\n"`)
	calls, processes := r.called("page", "execute_tool execute"), r.called("page", "process")
	require.Len(t, calls, 1)
	require.Len(t, processes, 1)
	require.Equal(t, calls[0].SpanId, processes[0].ParentSpanId)
	require.EqualValues(t, 3, processes[0].attributes()["process.exit.code"])
}
