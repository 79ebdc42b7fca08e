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
		"hex in lines":   "od -An -v -tx1 .env | tr -d ' ' | sed 's/^/    /'",
		"jq tojson":      "jq -Rrs '{k: ({k: .} | tojson)} | tojson' quoted",
		"jq @sh":         "jq -Rrs @sh quoted",
		"a form of Node": "node -p 'new URLSearchParams({k: " + read + "}).toString() + require(\"util\").inspect({k: " + read + "})'",
		"dash":           "dash -c 'v=$(cat quoted); set -x; : \"$v\"; export v; export -p' 2>&1",
		"JSON of .NET":   "python3 -c 'import json, re; print(re.sub(r\"[^\\w {}:]\", lambda m: \"\\\\u%04X\" % ord(m[0]), open(\"quoted\").read()))'",
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
