package procotel_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	_ "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp" // of the page's program
)

// The program on the page sends the spans of a call and of its process to a collector.
func TestReadme(t *testing.T) {
	var sent bytes.Buffer
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := sent.ReadFrom(r.Body); err != nil || r.URL.Path != "/v1/traces" {
			http.Error(w, "no spans", http.StatusBadRequest)
		}
	}))
	defer server.Close()
	cmd := exec.CommandContext(t.Context(), pageProgram(t))
	cmd.Env = append(os.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+server.URL)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), `"output":"it runs\n"`)
	require.Contains(t, sent.String(), "execute_tool execute")
	require.Contains(t, sent.String(), "process.executable.name", "the span of a process")
}

// pageProgram builds the page's program with the versions of this module.
func pageProgram(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```go\n")
	require.True(t, found)
	block, _, found := strings.Cut(rest, "```")
	require.True(t, found)
	source := filepath.Join(t.TempDir(), "main.go")
	require.NoError(t, os.WriteFile(source, []byte(block), 0o600))
	program := strings.TrimSuffix(source, ".go")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, source).CombinedOutput()
	require.NoError(t, err, "%s", out)
	return program
}
