package envpolicy_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
)

func TestApply(t *testing.T) {
	const unix, windows = "linux", "windows"
	type vars = map[string]string
	// Tests that are not about NonInteractive set Interactive, so that they can
	// state the whole result.
	tests := []struct {
		name       string
		goos       string // unix if empty
		policy     envpolicy.Policy
		base       []string
		request    map[string]string
		want       []string
		withheld   []string
		overridden []string
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
			name:   "KeepSecrets keeps names and values",
			policy: envpolicy.Policy{Interactive: true, KeepSecrets: true},
			base:   []string{"OPENAI_API_KEY=x", "A=postgres://u:p@h/db"},
			want:   []string{"OPENAI_API_KEY=x", "A=postgres://u:p@h/db"},
		},
		{
			name:     "KeepSecrets keeps nothing from Exclude",
			policy:   envpolicy.Policy{Interactive: true, KeepSecrets: true, Exclude: []string{"*_KEY"}},
			base:     []string{"OPENAI_API_KEY=x", "B=b"},
			want:     []string{"B=b"},
			withheld: []string{"OPENAI_API_KEY"},
		},
		{
			name: "Allow saves a name from both drops",
			policy: envpolicy.Policy{
				Interactive: true,
				Allow:       []string{"gh_*", "DATABASE_URL", "FOO_?"},
				Exclude:     []string{"FOO_*"},
			},
			base: []string{
				"GH_TOKEN=x", "GITLAB_TOKEN=x", "DATABASE_URL=postgres://u:p@h/db",
				"FOO_1=1", "FOO_22=22",
			},
			want:     []string{"GH_TOKEN=x", "DATABASE_URL=postgres://u:p@h/db", "FOO_1=1"},
			withheld: []string{"FOO_22", "GITLAB_TOKEN"},
		},
		{
			name:   "Allow widens neither InheritCore",
			policy: envpolicy.Policy{Interactive: true, Inherit: envpolicy.InheritCore, Allow: []string{"*"}},
			base:   []string{"PATH=/bin", "GH_TOKEN=x", "FOO=1", "LC_ALL=C", "http_proxy=http://u:p@h:1"},
			want:   []string{"PATH=/bin", "LC_ALL=C", "http_proxy=http://u:p@h:1"},
		},
		{
			name:   "nor InheritNone",
			policy: envpolicy.Policy{Interactive: true, Inherit: envpolicy.InheritNone, Allow: []string{"*"}},
			base:   []string{"PATH=/bin", "GH_TOKEN=x"},
			want:   []string{},
		},
		{
			name:   "nor IncludeOnly",
			policy: envpolicy.Policy{Interactive: true, IncludeOnly: []string{"P*"}, Allow: []string{"*"}},
			base:   []string{"PATH=/bin", "GH_TOKEN=x", "FOO=1"},
			want:   []string{"PATH=/bin"},
		},
		{
			name:   "an unknown Inherit inherits nothing",
			policy: envpolicy.Policy{Interactive: true, Inherit: 7},
			base:   []string{"PATH=/bin"},
			want:   []string{},
		},
		{
			name:     "IncludeOnly brings no secret back",
			policy:   envpolicy.Policy{Interactive: true, IncludeOnly: []string{"*"}},
			base:     []string{"GH_TOKEN=x", "FOO=1"},
			want:     []string{"FOO=1"},
			withheld: []string{"GH_TOKEN"},
		},
		{
			name:   "an empty IncludeOnly narrows nothing",
			policy: envpolicy.Policy{Interactive: true, IncludeOnly: []string{}},
			base:   []string{"FOO=1"},
			want:   []string{"FOO=1"},
		},
		{
			name: "Core, and what the host and the request set",
			policy: envpolicy.Policy{
				Interactive: true, Inherit: envpolicy.InheritCore, Set: vars{"FOO": "set", "HOME": "/elsewhere"},
			},
			base:       []string{"FOO=1", "HOME=/h"},
			request:    vars{"BAR": "request"},
			want:       []string{"FOO=set", "HOME=/elsewhere", "BAR=request"},
			overridden: []string{"HOME"},
		},
		{
			name:       "IncludeOnly does not concern Set and the request",
			policy:     envpolicy.Policy{Interactive: true, IncludeOnly: []string{"A"}, Set: vars{"S": "1"}},
			base:       []string{"A=1", "B=1"},
			request:    vars{"R": "1", "A": "2"},
			want:       []string{"A=2", "R=1", "S=1"},
			overridden: []string{"A"},
		},
		{
			name:       "Set over inherited, the request over Set, new names sorted at the end",
			policy:     envpolicy.Policy{Interactive: true, Set: vars{"Z": "set", "A": "set", "C": "set"}},
			base:       []string{"C=base", "B=base", "A=base"},
			request:    vars{"Y": "request", "A": "request"},
			want:       []string{"C=set", "B=base", "A=request", "Y=request", "Z=set"},
			overridden: []string{"A", "C"},
		},
		{
			name:    "the same value is no override",
			policy:  envpolicy.Policy{Interactive: true, Set: vars{"A": "1", "B": "2"}},
			base:    []string{"A=1", "B=1"},
			request: vars{"B": "1"},
			want:    []string{"A=1", "B=1"},
		},
		{
			name:     "what was set again is not withheld, nor overridden",
			policy:   envpolicy.Policy{Interactive: true, Set: vars{"GH_TOKEN": "set"}, Exclude: []string{"FOO"}},
			base:     []string{"GH_TOKEN=x", "NPM_TOKEN=x", "FOO=1", "B=1"},
			request:  vars{"FOO": "2"},
			want:     []string{"GH_TOKEN=set", "FOO=2", "B=1"},
			withheld: []string{"NPM_TOKEN"},
		},
		{
			name:     "Set then Unset is withheld still",
			policy:   envpolicy.Policy{Interactive: true, Set: vars{"GH_TOKEN": "set"}, Unset: []string{"GH_TOKEN"}},
			base:     []string{"GH_TOKEN=x"},
			want:     []string{},
			withheld: []string{"GH_TOKEN"},
		},
		{
			name:    "Unset is absent, exact, over Set, and under the request",
			policy:  envpolicy.Policy{Interactive: true, Set: vars{"S": "1"}, Unset: []string{"A", "S", "R", "X*", "b", "none"}},
			base:    []string{"A=1", "B=1", "XY=1", "R=1"},
			request: vars{"R": "1"},
			want:    []string{"B=1", "XY=1", "R=1"},
		},
		{
			name:       "non-interactive variables come before Set, Unset and the request",
			policy:     envpolicy.Policy{Inherit: envpolicy.InheritCore, Set: vars{"PAGER": "set"}, Unset: slices.Collect(maps.Keys(without("PAGER", "TERM")))},
			base:       []string{"TERM=xterm", "PAGER=less"},
			request:    vars{"EDITOR": "request"},
			want:       []string{"TERM=dumb", "PAGER=set", "EDITOR=request"},
			overridden: []string{"TERM"},
		},
		{
			name:   "malformed entries",
			policy: envpolicy.Policy{Interactive: true},
			base:   []string{"", "=", "==", "=x", "=C:=C:\\src", "NOVALUE", "NUL=\x00", "N\x00UL=1", "A=1", "B==", "C=a=b"},
			want:   []string{"A=1", "B==", "C=a=b"},
		},
		{
			name:    "unusable names and values",
			policy:  envpolicy.Policy{Interactive: true, Set: vars{"": "1", "A=B": "1", "A\x00": "1", "V": "\x00", "=C:": "1"}},
			request: vars{"": "1", "=": "1", "K": "\x00", "OK": "="},
			want:    []string{"OK=="},
		},
		{
			name:   "the last one of several wins, in the place of the first",
			policy: envpolicy.Policy{Interactive: true},
			base:   []string{"A=1", "B=1", "A=postgres://u:p@h/db", "A=3", "b=2"},
			want:   []string{"A=3", "B=1", "b=2"},
		},
		{
			name:     "a request may ask for what looks like a secret",
			policy:   envpolicy.Policy{Interactive: true},
			base:     []string{"NPM_TOKEN=x"},
			request:  vars{"GH_TOKEN": "y", "A": "postgres://u:p@h/db"},
			want:     []string{"A=postgres://u:p@h/db", "GH_TOKEN=y"},
			withheld: []string{"NPM_TOKEN"},
		},
		{
			name:       "unix tells case apart",
			policy:     envpolicy.Policy{Interactive: true, Set: vars{"path": "set"}, Unset: []string{"HOME"}},
			base:       []string{"Path=1", "PATH=2", "home=3"},
			request:    vars{"PATH": "request"},
			want:       []string{"Path=1", "PATH=request", "home=3", "path=set"},
			overridden: []string{"PATH"},
		},
		{
			name:       "windows does not: the last spelling, and each name once",
			goos:       windows,
			policy:     envpolicy.Policy{Interactive: true, Set: vars{"path": "set", "new": "1"}, Unset: []string{"home"}},
			base:       []string{"Path=1", "PATH=2", "Home=3", "Foo=1", "Bar=1"},
			request:    vars{"NEW": "2", "FOO": "1", "BAR": "2"},
			want:       []string{"path=set", "FOO=1", "BAR=2", "NEW=2"},
			overridden: []string{"Bar", "PATH"},
		},
		{
			name:    "windows, twice in one map: the same one each time",
			goos:    windows,
			policy:  envpolicy.Policy{Interactive: true},
			request: vars{"FOO": "1", "Foo": "2", "foo": "3"},
			want:    []string{"foo=3"},
		},
		{
			name:   "windows keeps the directories of its drives",
			goos:   windows,
			policy: envpolicy.Policy{Interactive: true},
			base:   []string{"=C:=C:\\src", "=ExitCode=00000000", "=c:=C:\\", "=", "==", "==x", "=x", "A=1"},
			want:   []string{"=c:=C:\\", "=ExitCode=00000000", "A=1"},
		},
		{
			name:     "windows, Core and secrets in any case",
			goos:     windows,
			policy:   envpolicy.Policy{Interactive: true, Inherit: envpolicy.InheritCore, Exclude: []string{"temp"}},
			base:     []string{"SYSTEMROOT=C:\\Windows", "ProgramFiles(x86)=C:\\p", "Temp=C:\\t", "Foo=1", "XDG_DATA_HOME=x"},
			want:     []string{"SYSTEMROOT=C:\\Windows", "ProgramFiles(x86)=C:\\p"},
			withheld: []string{"Temp"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			goos := tt.goos
			if goos == "" {
				goos = unix
			}
			base := slices.Clone(tt.base)
			env, report := tt.policy.ApplyOn(goos, base, tt.request)
			require.Equal(t, tt.want, env)
			require.Equal(t, tt.withheld, report.Withheld, "withheld")
			require.Equal(t, tt.overridden, report.Overridden, "overridden")
			require.Equal(t, tt.base, base, "base was written to")
		})
	}
}

// without returns NonInteractive without the given names.
func without(names ...string) map[string]string {
	m := envpolicy.NonInteractive()
	for _, n := range names {
		delete(m, n)
	}
	return m
}

func TestApplyZeroPolicy(t *testing.T) {
	base := []string{"HOME=/h", "PAGER=less", "CI_JOB_TOKEN=x"}
	env, report := envpolicy.Policy{}.Apply(base, nil)

	want := envpolicy.NonInteractive()
	want["HOME"] = "/h"
	got := map[string]string{}
	for _, entry := range env {
		name, value, _ := strings.Cut(entry, "=")
		got[name] = value
	}
	require.Equal(t, want, got)
	require.Len(t, env, len(want), "each name once")
	require.Equal(t, []string{"HOME=/h", "PAGER=cat"}, env[:2])
	require.True(t, slices.IsSorted(env[2:]))
	require.Equal(t, envpolicy.Report{Withheld: []string{"CI_JOB_TOKEN"}, Overridden: []string{"PAGER"}}, report)
}

// The caller owns the result: a change to it must not reach base, or the result
// of another call.
func TestApplySharesNothing(t *testing.T) {
	base := make([]string, 2, 200)
	base[0], base[1] = "A=1", "B=2"
	var p envpolicy.Policy
	first, _ := p.Apply(base, nil)
	second, _ := p.Apply(base, nil)
	want := slices.Clone(second)
	for i := range first {
		first[i] = "overwritten"
	}
	_ = append(first, "appended")
	require.Equal(t, want, second)
	require.Equal(t, []string{"A=1", "B=2"}, base)
	require.Equal(t, make([]string, 198), base[2:200], "the room behind base was written to")
}

func TestInheritString(t *testing.T) {
	require.Equal(t, "all", envpolicy.InheritAll.String())
	require.Equal(t, "core", envpolicy.InheritCore.String())
	require.Equal(t, "none", envpolicy.InheritNone.String())
	require.Equal(t, "Inherit(7)", envpolicy.Inherit(7).String())
	require.Equal(t, envpolicy.InheritAll, envpolicy.Policy{}.Inherit)
}

func TestCopies(t *testing.T) {
	lists := map[string]func() []string{
		"SecretNames":       envpolicy.SecretNames,
		"CoreNames":         func() []string { return envpolicy.CoreNames("linux") },
		"CoreNames windows": func() []string { return envpolicy.CoreNames("windows") },
	}
	for name, list := range lists {
		t.Run(name, func(t *testing.T) {
			first := list()
			require.NotEmpty(t, first)
			clear(first)
			require.NotContains(t, list(), "")
		})
	}
	t.Run("NonInteractive", func(t *testing.T) {
		clear(envpolicy.NonInteractive())
		require.NotEmpty(t, envpolicy.NonInteractive())
	})
}

func TestCoreNames(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "freebsd"} {
		names := envpolicy.CoreNames(goos)
		for _, want := range []string{"PATH", "HOME", "LC_*", "TMPDIR", "SSL_CERT_FILE"} {
			require.Contains(t, names, want, goos)
		}
		require.NotContains(t, names, "SystemRoot", goos)
	}
	for _, want := range []string{"SystemRoot", "ComSpec", "PATH", "PATHEXT", "TEMP", "USERPROFILE"} {
		require.Contains(t, envpolicy.CoreNames("windows"), want)
	}
}

func TestNonInteractive(t *testing.T) {
	vars := envpolicy.NonInteractive()
	want := map[string]string{
		"GIT_EDITOR": "true", "GIT_SEQUENCE_EDITOR": "true", "EDITOR": "true", "VISUAL": "true",
		"GIT_TERMINAL_PROMPT": "0", "NO_COLOR": "1", "TERM": "dumb",
		"PAGER": "cat", "GIT_PAGER": "cat", "GH_PAGER": "cat",
		"GIT_ASKPASS": "false", "SSH_ASKPASS": "false", "GH_PROMPT_DISABLED": "1",
		"GCM_INTERACTIVE": "never", "DEBIAN_FRONTEND": "noninteractive", "PYTHONUNBUFFERED": "1",
	}
	for name, value := range want {
		require.Equal(t, value, vars[name], name)
	}
	require.NotContains(t, vars, "CI")
	for name, value := range vars {
		require.NotEmpty(t, value, "%s: some programs take an empty variable for an absent one", name)
		require.False(t, envpolicy.SecretName(name), "%s looks like a secret: a nested policy would report it", name)
	}
}
