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

// The program on the page, in a module outside of the repository, sends the spans of a
// call and of its process to a collector.
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

// pageProgram builds the page's program as somebody does who copies it to a module of
// their own, with the versions of this module.
func pageProgram(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("README.md")
	require.NoError(t, err)
	_, rest, found := strings.Cut(string(page), "```go\n")
	require.True(t, found)
	block, _, found := strings.Cut(rest, "```")
	require.True(t, found)

	dir := t.TempDir()
	for _, name := range []string{"go.mod", "go.sum"} {
		content, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), []byte(block), 0o600))
	tree, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Path}}={{.Dir}}", library).Output()
	require.NoError(t, err)
	here, err := filepath.Abs(".")
	require.NoError(t, err)
	own := library + "/contrib/procotel"
	program := filepath.Join(dir, "program")
	for _, args := range [][]string{
		{"mod", "edit", "-module=user.example", "-replace=" + strings.TrimSpace(string(tree)), "-require=" + own + "@v0.0.0", "-replace=" + own + "=" + here},
		{"build", "-o", program, "."},
	} {
		cmd := exec.CommandContext(t.Context(), "go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-buildvcs=false")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s\n%s", cmd, out)
	}
	return program
}

const library = "github.com/toolproc/toolproc"
