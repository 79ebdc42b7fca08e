package redact_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/testenv"
)

// encoders are programs that read a JSON array of values, and print one of what they
// make of each.
var encoders = map[string]struct{ program, script string }{
	"python quote":       {"python3", `from urllib.parse import *; out = [quote(v) for v in values]`},
	"python quote safe":  {"python3", `from urllib.parse import *; out = [quote(v, safe="") for v in values]`},
	"python quote_plus":  {"python3", `from urllib.parse import *; out = [quote_plus(v) for v in values]`},
	"python urlencode":   {"python3", `from urllib.parse import *; out = [urlencode({"k": v, "z": 1}) for v in values]`},
	"python lower case":  {"python3", `from urllib.parse import *; import re; out = [re.sub("%..", lambda m: m[0].lower(), quote(v, safe="")) for v in values]`},
	"python JSON":        {"python3", `out = [json.dumps({"k": v}) for v in values]`},
	"python JSON twice":  {"python3", `out = [json.dumps({"k": json.dumps({"k": v})}) for v in values]`},
	"python UTF-8 JSON":  {"python3", `out = [json.dumps({"k": json.dumps(v, ensure_ascii=False)}, ensure_ascii=False) for v in values]`},
	"python repr":        {"python3", `out = [repr([v]) for v in values]`},
	"JSON of PHP":        {"python3", `out = [json.dumps(v).replace("/", "\\/") for v in values]`},
	"JSON of PHP twice":  {"python3", `php = lambda v: json.dumps(v).replace("/", "\\/"); out = [php({"k": php(v)}) for v in values]`},
	"JSON of .NET":       {"python3", `import re; net = lambda v: re.sub(r"""[^\w\\" {}:]|(?<=\\)"|&""", lambda m: "\\u%04X" % ord(m[0]) if m[0] not in '"' else 'u0022', json.dumps(v)); out = [net(v) for v in values if '"' not in v and "\\" not in v]`},
	"encodeURI":          {"node", `out = values.map(encodeURI)`},
	"encodeURIComponent": {"node", `out = values.map(encodeURIComponent)`},
	"URLSearchParams":    {"node", `out = values.map(v => new URLSearchParams({k: v, z: 1}).toString())`},
	"URL searchParams":   {"node", `out = values.map(v => { const u = new URL("http://h/"); u.searchParams.set("k", v); return u.href })`},
	"URL user":           {"node", `out = values.map(v => { const u = new URL("http://h/"); u.username = "u"; u.password = v; return u.href })`},
	"JSON.stringify":     {"node", `out = values.map(v => JSON.stringify(JSON.stringify({k: v})))`},
	"util.inspect":       {"node", `out = values.map(v => require("util").inspect({k: v}, {breakLength: Infinity}))`},
	"jq @uri":            {"jq", `map(@uri)`},
	"jq tojson":          {"jq", `map({k: .} | tojson)`},
	"jq tojson twice":    {"jq", `map({k: tojson} | tojson)`},
	"jq @sh":             {"jq", `map(@sh)`},
	"bash set -x":        {"bash", `set -x; : "$v"`},
	"bash set -x twice":  {"bash", `set -x; : "a $v" "${v}b"`},
	"bash declare -p":    {"bash", `declare -p v`},
	"bash export -p":     {"bash", `export v; export -p | grep -A9 ' v='`},
	"bash set":           {"bash", `set | grep -A9 '^v='`},
	"bash printf %q":     {"bash", `printf '%q\n' "$v"`},
	"bash @Q":            {"bash", `echo "${v@Q}"`},
	"dash set -x":        {"dash", `set -x; : "$v"`},
	"dash export -p":     {"dash", `export v; export -p`},
	"base64 in YAML":     {"sh", `printf %s "$v" | base64 -w 20 | sed 's/^/      /'`},
	"base64 after tabs":  {"sh", `printf 'x%s' "$v" | base64 -w 64 | sed "s/^/$(printf '\t\t')/"`},
	"hex in lines":       {"sh", `printf %s "$v" | od -An -v -tx1 | tr -d ' ' | sed 's/^/    /'`},
}

// encode returns what a program makes of each of the secrets.
func encode(t *testing.T, program, script string) (out []string) {
	t.Helper()
	testenv.Programs(t, program)
	run := func(stdin string, args ...string) string {
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=/nowhere"}
		cmd.Stdin = strings.NewReader(stdin)
		text, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", text)
		return string(text)
	}
	all, err := json.Marshal(secrets)
	require.NoError(t, err)
	text := ""
	switch program {
	case "python3":
		text = run(string(all), "-c", "import sys, json\nvalues = json.load(sys.stdin)\n"+script+"\njson.dump(out, sys.stdout)")
	case "node":
		text = run(string(all), "-e", `let out; const values = JSON.parse(require("fs").readFileSync(0, "utf8")); `+script+`; console.log(JSON.stringify(out))`)
	case "jq":
		text = run(string(all), script)
	default:
		for _, v := range secrets {
			out = append(out, run("", "-c", `v=$1; `+script, "sh", v))
		}
		return out
	}
	require.NoError(t, json.Unmarshal([]byte(text), &out))
	return out
}

var words = regexp.MustCompile(`[A-Za-z0-9]{4,}`)

// What real tools make of a value is masked, however its text is split.
func TestTools(t *testing.T) {
	t.Parallel()
	s := set(secrets...)
	for name, e := range encoders {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, text := range encode(t, e.program, e.script) {
				out := mask(s, text)
				require.Contains(t, out, "[withheld: ", text)
				for _, secret := range secrets {
					for _, word := range words.FindAllString(secret, -1) {
						if strings.Contains(text, word) && word != "HOME" {
							require.NotContains(t, out, word, "%q is %q", text, out)
						}
					}
				}
				for cut := range text {
					require.Equal(t, out, mask(s, text[:cut], text[cut:]), "%q, cut at %d", text, cut)
				}
			}
		})
	}
}
