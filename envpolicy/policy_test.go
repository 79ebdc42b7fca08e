package envpolicy_test

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/internal/testenv"
)

func TestApply(t *testing.T) {
	const windows = "windows"
	type vars = map[string]string
	// Tests that are not about NonInteractive set Interactive, so that they can
	// state the whole result.
	tests := []struct {
		name     string
		goos     string // linux if empty
		policy   envpolicy.Policy
		base     []string
		want     []string
		withheld []string
	}{
		{
			name:   "nothing of nothing",
			policy: envpolicy.Policy{Interactive: true},
			want:   []string{},
		},
		{
			name:     "secrets go, the rest stays in its order",
			policy:   envpolicy.Policy{Interactive: true},
			base:     []string{"PATH=/bin", "OPENAI_API_KEY=x", "HOME=/h", "A=postgres://u:p@h/db", "EMPTY="},
			want:     []string{"PATH=/bin", "HOME=/h", "EMPTY="},
			withheld: []string{"A", "OPENAI_API_KEY"},
		},
		{
			name:     "Allow keeps names and values, but nothing from Exclude",
			policy:   envpolicy.Policy{Interactive: true, Allow: []string{"gh_*", "A"}, Exclude: []string{"GH_X"}},
			base:     []string{"GH_TOKEN=x", "A=postgres://u:p@h/db", "GH_X=1", "NPM_TOKEN=x"},
			want:     []string{"GH_TOKEN=x", "A=postgres://u:p@h/db"},
			withheld: []string{"GH_X", "NPM_TOKEN"},
		},
		{
			name:   "nor from IncludeOnly",
			policy: envpolicy.Policy{Interactive: true, IncludeOnly: []string{"P*"}, Allow: []string{"*"}},
			base:   []string{"PATH=/bin", "GH_TOKEN=x", "FOO=1"},
			want:   []string{"PATH=/bin"},
		},
		{
			name:     "IncludeOnly brings no secret back",
			policy:   envpolicy.Policy{Interactive: true, IncludeOnly: []string{"*"}},
			base:     []string{"GH_TOKEN=x", "FOO=1"},
			want:     []string{"FOO=1"},
			withheld: []string{"GH_TOKEN"},
		},
		{
			name:   "an empty IncludeOnly inherits nothing",
			policy: envpolicy.Policy{Interactive: true, IncludeOnly: []string{}, Set: vars{"A": "1"}},
			base:   []string{"PATH=/bin", "GH_TOKEN=x"},
			want:   []string{"A=1"},
		},
		{
			name:   "the names that programs need",
			policy: envpolicy.Policy{Interactive: true, IncludeOnly: envpolicy.CoreNamesOn("linux")},
			base:   []string{"PATH=/bin", "GH_TOKEN=x", "FOO=1", "LC_ALL=C", "http_proxy=http://u:p@h:1"},
			want:   []string{"PATH=/bin", "LC_ALL=C", "http_proxy=http://u:p@h:1"},
		},
		{
			name:   "the names that programs need on Windows, in any case",
			goos:   windows,
			policy: envpolicy.Policy{Interactive: true, IncludeOnly: envpolicy.CoreNamesOn(windows)},
			base:   []string{"SYSTEMROOT=C:\\Windows", "ProgramFiles(x86)=C:\\p", "Temp=C:\\t", "Foo=1", "XDG_DATA_HOME=x"},
			want:   []string{"SYSTEMROOT=C:\\Windows", "ProgramFiles(x86)=C:\\p", "Temp=C:\\t"},
		},
		{
			name:     "Set wins, may be a secret, and comes last in order",
			policy:   envpolicy.Policy{Interactive: true, IncludeOnly: []string{"*"}, Set: vars{"Z": "1", "A": "2", "GH_TOKEN": "y", "NEW": "postgres://u:p@h/db"}},
			base:     []string{"A=1", "B=1", "GH_TOKEN=x", "NPM_TOKEN=x"},
			want:     []string{"B=1", "A=2", "GH_TOKEN=y", "NEW=postgres://u:p@h/db", "Z=1"},
			withheld: []string{"NPM_TOKEN"},
		},
		{
			name:   "the state of the host's own process, whatever is allowed",
			policy: envpolicy.Policy{Interactive: true, Allow: []string{"*"}, Set: vars{"LISTEN_PID": "set"}},
			base: []string{
				"LISTEN_FDS=1", "LISTEN_PID=7", "LISTEN_FDNAMES=http", "NOTIFY_SOCKET=/run/systemd/notify", "NODE_CHANNEL_FD=3",
				"NODE_CHANNEL_SERIALIZATION_MODE=json", "NODE_UNIQUE_ID=1", "WAYLAND_SOCKET=4", "LISTEN=1", "NODE_ENV=test",
				"OLDPWD=/h", "CDPATH=/h", "SHELLOPTS=noglob", "BASHOPTS=nullglob",
				"MAKEFLAGS=ks -j8 --jobserver-auth=3,4", "CARGO_MAKEFLAGS=-j --jobserver-fds=8,9", "MFLAGS=-k",
			},
			want: []string{"LISTEN=1", "NODE_ENV=test", "MFLAGS=-k", "LISTEN_PID=set"},
		},
		{
			name:   "malformed entries",
			policy: envpolicy.Policy{Interactive: true},
			base:   []string{"", "=", "==", "=x", "=C:=C:\\src", "NOVALUE", "NUL=\x00", "N\x00UL=1", "A=1", "B==", "C=a=b"},
			want:   []string{"A=1", "B==", "C=a=b"},
		},
		{
			name:   "unusable names and values",
			policy: envpolicy.Policy{Interactive: true, Set: vars{"": "1", "A=B": "1", "A\x00": "1", "V": "\x00", "=C:": "1", "OK": "="}},
			want:   []string{"OK=="},
		},
		{
			name:   "the last one of several wins",
			policy: envpolicy.Policy{Interactive: true},
			base:   []string{"A=1", "B=1", "A=postgres://u:p@h/db", "A=3", "b=2"},
			want:   []string{"B=1", "A=3", "b=2"},
		},
		{
			name:   "unix tells case apart",
			policy: envpolicy.Policy{Interactive: true, Set: vars{"path": "set"}},
			base:   []string{"Path=1", "PATH=2"},
			want:   []string{"Path=1", "PATH=2", "path=set"},
		},
		{
			name:   "windows does not: the last spelling, and each name once",
			goos:   windows,
			policy: envpolicy.Policy{Interactive: true, Set: vars{"path": "set", "FOO": "1", "Foo": "2", "foo": "3"}},
			base:   []string{"Path=1", "PATH=2", "Home=3", "HOME=4"},
			want:   []string{"HOME=4", "foo=3", "path=set"},
		},
		{
			name:   "windows keeps the directories of its drives",
			goos:   windows,
			policy: envpolicy.Policy{Interactive: true},
			base:   []string{"=C:=C:\\src", "=ExitCode=00000000", "=c:=C:\\", "=", "==", "==x", "=x", "A=1"},
			want:   []string{"=ExitCode=00000000", "=c:=C:\\", "A=1"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.goos == "" {
				tt.goos = "linux"
			}
			base := slices.Clone(tt.base)
			env, withheld := tt.policy.ApplyOn(tt.goos, base)
			require.Equal(t, tt.want, env)
			require.Equal(t, tt.withheld, withheld, "withheld")
			require.Equal(t, tt.base, base, "base was written to")
		})
	}
}

func TestApplyZeroPolicy(t *testing.T) {
	env, withheld := envpolicy.Policy{}.Apply([]string{"PAGER=less", "HOME=/h", "CI_JOB_TOKEN=x"})
	require.Equal(t, []string{"CI_JOB_TOKEN"}, withheld)
	require.Equal(t, "HOME=/h", env[0])
	require.True(t, slices.IsSorted(env[1:]))
	vars := envpolicy.NonInteractive()
	require.Len(t, env, 1+len(vars))
	for name, value := range vars {
		require.Contains(t, env, name+"="+value)
		require.NotEmpty(t, value, "%s: some programs take an empty variable for an absent one", name)
		require.False(t, envpolicy.IsSecret(name, "x"), "%s looks like a secret: a nested policy would withhold it", name)
	}
	require.NotContains(t, vars, "CI")
}

// The caller may change what it gets.
func TestCopies(t *testing.T) {
	clear(envpolicy.CoreNames())
	require.Contains(t, envpolicy.CoreNames(), "PATH")
	clear(envpolicy.NonInteractive())
	require.NotEmpty(t, envpolicy.NonInteractive())
}

func TestPatterns(t *testing.T) {
	tests := []struct {
		pattern string
		yes, no []string
	}{
		{"", nil, []string{"A"}},
		{"*", []string{"A", "A_B", "\xff", "a\nb"}, nil},
		{"?", []string{"A", "é", "\xff"}, []string{"AB"}},
		{"?*", []string{"A", "AB"}, nil},
		{"PATH", []string{"PATH", "path", "Path"}, []string{"PAT", "PATHS", "XPATH"}},
		{"LC_*", []string{"LC_", "LC_ALL", "lc_all"}, []string{"LC", "XLC_ALL"}},
		{"A*B*C", []string{"ABC", "AxBxC", "ABBCC", "aCbCc"}, []string{"AB", "ACB", "ABCD"}},
		{"A.B+(C)[D]|E", []string{"a.b+(c)[d]|e"}, []string{"AxB+(C)[D]|E", "E", "A.BB+(C)[D]|E"}},
		{"\\*", []string{"\\x", "\\"}, []string{"*"}},
		{"SCHLÜSSEL\xff", []string{"schlüssel\xff"}, []string{"schlussel"}},
	}
	for _, tt := range tests {
		policy := envpolicy.Policy{Interactive: true, Allow: []string{"*"}, Exclude: []string{"no such name", tt.pattern}}
		for _, name := range slices.Concat(tt.yes, tt.no) {
			_, withheld := policy.ApplyOn("linux", []string{name + "=1"})
			require.Equal(t, slices.Contains(tt.yes, name), len(withheld) == 1, "%q, %q", tt.pattern, name)
		}
	}
}

// If git settings are withheld, git still works.
func TestGitConfig(t *testing.T) {
	testenv.Programs(t, "git")
	header := "Authorization: Bearer " + random(20)
	tests := []struct {
		name     string
		base     []string
		want     string // git config --list
		withheld []string
	}{
		{"no secret", []string{"safe.directory", "*", "user.name", "A"}, "safe.directory=*\nuser.name=A\n", nil},
		{"a value", []string{"user.name", "A", "http.https://h/.extraheader", header}, "", []string{"GIT_CONFIG_COUNT", "GIT_CONFIG_VALUE_1"}},
		{"a key", []string{"url.https://u:p@h/.insteadof", "https://h/"}, "", []string{"GIT_CONFIG_COUNT", "GIT_CONFIG_KEY_0"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base := []string{fmt.Sprint("GIT_CONFIG_COUNT=", len(tt.base)/2)}
			for i := 0; i < len(tt.base); i += 2 {
				base = append(base, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s", i/2, tt.base[i]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", i/2, tt.base[i+1]))
			}
			env, withheld := envpolicy.Policy{}.Apply(base)
			require.Equal(t, tt.withheld, withheld)
			require.NotContains(t, strings.Join(env, "\n"), header)
			cmd := exec.Command("git", "config", "--list")
			cmd.Dir = t.TempDir() // with no settings of its own, nor does git find others
			cmd.Env = append(env, "PATH="+os.Getenv("PATH"), "HOME="+cmd.Dir, "GIT_CONFIG_NOSYSTEM=1")
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			require.Equal(t, tt.want, string(out))
		})
	}
}

// FuzzApply gives Apply environments that no operating system would give, line
// by line, and checks the promises of its doc.
func FuzzApply(f *testing.F) {
	f.Add("PATH=/bin\nHOME=/h\nGH_TOKEN=x\nA=postgres://u:p@h/db", "", "", "", false)
	f.Add("Path=1\nPATH=2\n=C:=C:\\\n=\n==\nX", "p*", "*_KEY\n?", "path", true)
	f.Add("A=1\nA=2\nN\x00=1", "*a*a*a*b", "\xff\xfe", "B=\x00", false)
	f.Add("dbPassword=x\nORACLE_PWD=/x\nDSN=u:p@tcp(h)/d\nGH_PAT_2=x\nNEXT_PUBLIC_KEY=x\nK=1\n\u212a=2\n\xff=3\n\xfe=4", "é", "?", "", true)
	f.Fuzz(func(t *testing.T, base, allow, exclude, set string, windows bool) {
		goos := map[bool]string{true: "windows", false: "linux"}[windows]
		p := envpolicy.Policy{Allow: strings.Split(allow, "\n"), Exclude: strings.Split(exclude, "\n"), Set: map[string]string{set: "x"}}
		env, withheld := p.ApplyOn(goos, strings.Split(base, "\n"))
		require.True(t, slices.IsSorted(withheld))
		seen := map[string]bool{}
		fold := func(name string) string {
			if windows {
				return strings.ToLower(name)
			}
			return name
		}
		for _, entry := range env {
			end := strings.Index(entry[1:], "=") + 1
			require.Positive(t, end, "%q", entry)
			name := entry[:end]
			require.NotContains(t, entry, "\x00")
			require.NotContains(t, seen, fold(name), "twice")
			seen[fold(name)] = true
			_, given := envpolicy.NonInteractive()[strings.ToUpper(name)]
			require.True(t, given || name == set || !envpolicy.IsSecret(name, entry[end+1:]) || allow != "", "%q survived", entry)
		}
		for _, name := range withheld {
			require.NotContains(t, seen, fold(name))
			require.Contains(t, base, name+"=")
		}
	})
}

func BenchmarkApply(b *testing.B) {
	base := []string{
		"PATH=/home/user/go/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME=/home/user",
		"LS_COLORS=" + strings.Repeat("di=01;34:*.tar=01;31:", 70), "OPENAI_API_KEY=x", "DATABASE_URL=postgres://user:password@db.example.com/production",
		"DEBUGINFOD_URLS=https://debuginfod.example.com", "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus",
	}
	for i := len(base); i < 60; i++ {
		base = append(base, fmt.Sprintf("PROJECT_SETTING_%d=some value", i))
	}
	b.ReportAllocs()
	for b.Loop() {
		envpolicy.Policy{}.Apply(base)
	}
}
