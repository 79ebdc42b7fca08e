package proclocal_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	neturl "net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// What real tools print of a secret is masked.
func TestRedactTools(t *testing.T) {
	const (
		password = "p4sswordOf/the+data=base"
		quoted   = `it's "p4ssword"/of+the data=base`
		url      = "https://ada:p4sswordOf%2Fthe%2Bdata%3Dbase@127.0.0.1:1/x.git"
	)
	dir := t.TempDir()
	t.Setenv("GITHUB_TOKEN", token)
	t.Setenv("DATABASE_URL", url)
	file := filepath.Join(dir, ".env")
	text := strings.Repeat("# a comment that moves what follows\nGITHUB_TOKEN="+token+"\nDATABASE_URL="+url+"\nPASSWORD="+password+"\n", 5)
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "quoted"), []byte(quoted), 0o600))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(r.Header.Get("Authorization")))
	}))
	defer server.Close()
	l := newLocal(t, &proclocal.Options{WorkDir: dir, Redact: []proclocal.Secret{{Name: "QUOTED", Value: quoted}}})
	const read = `require("fs").readFileSync("quoted", "utf8")`
	for name, command := range map[string]string{
		"a file":         "cat .env",
		"a diff":         "diff .env /dev/null",
		"base64":         "base64 .env",
		"base64 -w0":     "base64 -w0 .env",
		"base64 -w 5":    "base64 -w 5 .env",
		"xxd -p":         "xxd -p .env",
		"jq":             "jq -R . .env",
		"jq @uri":        "jq -rR @uri .env",
		"jq @base64":     "jq -rR @base64 .env",
		"git":            "git init -q g && cd g && git remote add o $(sed -n 's/DATABASE_URL=//p' ../.env | head -n 1) && git remote -v",
		"curl":           "curl -sv -H \"Authorization: Bearer $(sed -n 's/GITHUB_TOKEN=//p' .env | head -n 1)\" " + server.URL + " 2>&1",
		"Node":           "node -e 'throw new Error(require(\"fs\").readFileSync(\".env\", \"utf8\"))' 2>&1",
		"Node's JSON":    "node -p 'JSON.stringify(require(\"fs\").readFileSync(\".env\", \"utf8\"))'",
		"Python":         "python3 -c 'print(repr(open(\".env\").read()))'",
		"Python's quote": "python3 -c 'import urllib.parse; print(urllib.parse.quote(open(\".env\").read(), safe=\"\"))'",
		"quote":          "python3 -c 'import urllib.parse; print(urllib.parse.quote(open(\"quoted\").read()))'",
		"quote_plus":     "python3 -c 'import urllib.parse; print(urllib.parse.quote_plus(open(\"quoted\").read()))'",
		"a URL of Node":  "node -p 'encodeURIComponent(" + read + ") + new URL(\"http://h/?\" + " + read + ")'",
		"JSON in JSON":   "node -p 'JSON.stringify({a: JSON.stringify({b: " + read + "})})'",
		"JSON of PHP":    "node -p 'JSON.stringify(" + read + ").replaceAll(\"/\", \"\\\\/\").replaceAll(\"+\", \"\\\\u002b\")'",
		"a trace":        "bash -c 'v=$(cat quoted); set -x; : \"$v\"; declare -p v; printf \"%q\\n\" \"$v\"' 2>&1",
		"YAML":           "base64 -w 16 quoted | sed 's/^/    /'",
		"grep's colours": "grep --color=always -E 'ghp_16C7|word' .env",
		"a shell":        "set -x; . ./.env; : $GITHUB_TOKEN $DATABASE_URL",
	} {
		t.Run(name, func(t *testing.T) {
			if program := strings.Fields(command)[0]; program != "set" {
				testenv.Programs(t, program)
			}
			out := finish(t, l, procmgr.StartRequest{Command: command, Limit: headtail.Limits{Bytes: -1, Line: -1}})
			require.NotEmpty(t, out.Redacted)
			require.Contains(t, out.Text, "[withheld: ")
			require.NotContains(t, out.Text, "p4ssword")
			for _, value := range []string{token, password, url} {
				for _, form := range formsOf(value) {
					require.NotContains(t, strings.NewReplacer("\n", "", "\r", "").Replace(out.Text), form, "%s: %s", command, out.Text)
				}
			}
		})
	}
	out := finish(t, l, procmgr.StartRequest{Command: "env", Env: map[string]string{"A_TOKEN": "a1b2c3d4e5f6a7b8c9d0"}})
	require.Contains(t, out.Text, "A_TOKEN=[withheld: A_TOKEN]\n")
	require.NotContains(t, out.Text, token)
}

// formsOf returns what must not be printed of a value.
func formsOf(value string) []string {
	quoted, _ := json.Marshal(value)
	return []string{
		value, strings.Trim(string(quoted), `"`), neturl.QueryEscape(value), hex.EncodeToString([]byte(value)),
		base64.StdEncoding.EncodeToString([]byte(value))[4 : len(value)*4/3-4],
		base64.StdEncoding.EncodeToString([]byte("-" + value))[4 : len(value)*4/3-4],
		base64.StdEncoding.EncodeToString([]byte("--" + value))[4 : len(value)*4/3-4],
	}
}

// Ordinary output stays as it is, byte for byte.
func TestRedactOrdinary(t *testing.T) {
	t.Setenv("GITHUB_TOKEN", token)
	t.Setenv("DB_PASSWORD", "postgres")
	t.Setenv("SECRET_MANAGER_PROJECT", "my-project-123456")
	t.Setenv("TOKEN_MODEL", "claude-3-5-sonnet-20241022")
	t.Setenv("KEY_FILE", "/home/ada/.ssh/id_ed25519_2024")
	t.Setenv("AUTH_HOST", "auth01.a1b2c3d4e5f6.example.com")
	t.Setenv("API_KEY_HEADER", "X-Api-Key")
	t.Setenv("SESSION_SECRET", "development")
	l := newLocal(t, nil)
	words := "postgres my-project-123456 claude-3-5-sonnet-20241022 /home/ada/.ssh/id_ed25519_2024 auth01.a1b2c3d4e5f6.example.com X-Api-Key development"
	for i, text := range []string{
		words, "ghp_", "ghp_16C7e42F292c6912E7710c838347Ae178B4", "hp_16C7e42F292c6912E7710c838347Ae178B4a",
		"GHP_16C7E42F292C6912E7710C838347AE178B4A", "ghp_16C7e42F292c6912E7710c838347Ae178B4b",
		"go: downloading github.com/stretchr/testify v1.10.0", "ok  \tgithub.com/toolproc/toolproc/envpolicy\t0.512s",
		"--- FAIL: TestX (0.00s)\n    x_test.go:12: got 1, want 2\nFAIL", "commit 3b18e512dba79e4c8300dd08aeb37f8e728b8dad",
		"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
		"{\"a\":1,\"b\":[true,null]}", "<html><body>&amp;</body></html>",
		"Password: ", "password for 'https://ada@example.com': ", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIG9yZGluYXJ5IGtleQ ada@host",
		"data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk", "Z2hwXzE2Qzc=", "6768705f",
		"drwxr-xr-x 2 root root 4096 Nov 24 16:00 .", "PID TTY TIME CMD\n 1 ? 00:00:00 init", "真っ直ぐ é ü 🎉", "$GITHUB_TOKEN", "${GITHUB_TOKEN}",
		"GITHUB_TOKEN=", "[withheld: GITHUB_TOKEN]", "***", "diff --git a/x b/x\n@@ -1 +1 @@\n-a\n+b", "Traceback (most recent call last):\n  File \"x.py\", line 1",
		"npm warn deprecated inflight@1.0.6: not supported", "added 1 package in 512ms", "make: *** [Makefile:2: all] Error 1",
		"warning: unused variable: `x`", "https://example.com/a?b=c&d=e%20f", "127.0.0.1:5432", "2026-11-24T16:32:49Z INFO started", strings.Repeat("0123456789abcdef", 64),
	} {
		file := filepath.Join(t.TempDir(), "text")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		out := finish(t, l, procmgr.StartRequest{Command: "cat " + file, Limit: headtail.Limits{Bytes: -1, Line: -1}})
		require.Equal(t, strings.ToValidUTF8(text, "\uFFFD"), strings.ReplaceAll(out.Text, "\uFFFD\uFFFD", "\uFFFD"), "%d", i)
		require.Empty(t, out.Redacted)
		require.Equal(t, int64(len(text)), out.Next)
	}
}
