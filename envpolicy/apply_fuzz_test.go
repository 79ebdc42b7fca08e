package envpolicy_test

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
)

// FuzzApply gives Apply environments that no operating system would give, line
// by line, and checks the promises of its doc.
func FuzzApply(f *testing.F) {
	const (
		windows = 1 << iota
		keepSecrets
		interactive
		core
		none
	)
	f.Add("PATH=/bin\nHOME=/h\nGH_TOKEN=x\nA=postgres://u:p@h/db", "", "", "", "", "", uint8(0))
	f.Add("Path=1\nPATH=2\n=C:=C:\\\n=\n==\nX", "p*", "*_KEY\n?", "P*", "path=x\nFoo=1\nFOO=2\n=x", "home\nHOME", uint8(windows))
	f.Add("A=1\nA=2\nN\x00=1", "*a*a*a*b", "", "", "A\x00=1\nB=\x00", "A", uint8(interactive|core))
	f.Add("GIT_CONFIG_COUNT=3\nGIT_CONFIG_KEY_0=a.b\nGIT_CONFIG_VALUE_0=c\nGIT_CONFIG_KEY_1=http.extraheader\nGIT_CONFIG_VALUE_1=Authorization: Bearer x\n"+
		"GIT_CONFIG_KEY_2=url.https://u:p@h/.insteadOf\nGIT_CONFIG_VALUE_2=https://h/", "", "*_0", "", "A=1", "B", uint8(interactive))
	f.Add("dbPassword=x\nORACLE_PWD=/x\nX_PWD=x\nREWARD_TOKEN=0x"+strings.Repeat("a1", 20)+"\nDSN=u:p@tcp(h)/d\nGH_PAT_2=x\nNEXT_PUBLIC_KEY=x", "", "", "", "", "", uint8(0))
	f.Add("É=1\né=2\nK=1\n\u212a=2\n\xff=3\n\xfe=4", "é", "?", "", "k=3", "", uint8(windows|interactive|keepSecrets))
	f.Fuzz(func(t *testing.T, base, allow, exclude, only, request, unset string, flags uint8) {
		goos := "linux"
		if flags&windows != 0 {
			goos = "windows"
		}
		p := envpolicy.Policy{
			KeepSecrets: flags&keepSecrets != 0,
			Interactive: flags&interactive != 0,
			Allow:       lines(allow),
			Exclude:     lines(exclude),
			IncludeOnly: lines(only),
			Unset:       lines(unset),
		}
		switch {
		case flags&core != 0:
			p.Inherit = envpolicy.InheritCore
		case flags&none != 0:
			p.Inherit = envpolicy.InheritNone
		}
		asked := map[string]string{}
		for _, entry := range lines(request) {
			name, value, _ := strings.Cut(entry, "=")
			asked[name] = value
		}
		host := lines(base)
		before := slices.Clone(host)

		env, report := p.ApplyOn(goos, host, asked)
		require.Equal(t, before, host, "base was written to")
		again, reportAgain := p.ApplyOn(goos, host, asked)
		require.Equal(t, env, again, "not the same twice")
		require.Equal(t, report, reportAgain)

		got := map[string]string{} // by folded name
		for _, entry := range env {
			name, value := split(goos, entry)
			require.NotEmpty(t, name, "%q", entry)
			require.NotContains(t, entry, "\x00")
			require.NotContains(t, got, fold(goos, name), "twice: %q", name)
			got[fold(goos, name)] = value
		}
		inherited := map[string]string{} // the variables of base, by their own names
		for _, entry := range before {
			if name, value := split(goos, entry); name != "" && !strings.Contains(entry, "\x00") {
				inherited[fold(goos, name)] = value
			}
		}
		for name, value := range asked {
			if name == "" || strings.ContainsAny(name, "=\x00") || strings.Contains(value, "\x00") {
				continue
			}
			require.Contains(t, got, fold(goos, name), "the request has the last word")
			if goos != "windows" {
				require.Equal(t, value, got[name])
			}
		}

		// No secret survives, unless the Policy allowed it or a caller asked
		// for it.
		given := func(name string) bool {
			same := func(n string) bool { return fold(goos, n) == fold(goos, name) }
			for n := range asked {
				if same(n) {
					return true
				}
			}
			return false
		}
		for _, entry := range env {
			name, value := split(goos, entry)
			if p.KeepSecrets || given(name) || matchAny(p.Allow, name) {
				continue
			}
			require.False(t, secretOracle(name, value), "%q survived", entry)
		}

		// The report has only names of base, sorted, each of them once.
		for _, list := range [][]string{report.Withheld, report.Overridden} {
			require.True(t, slices.IsSorted(list))
			require.Len(t, slices.Compact(slices.Clone(list)), len(list))
			for _, name := range list {
				require.Contains(t, inherited, fold(goos, name), "not a name of base: %q", name)
			}
		}
		for _, name := range report.Withheld {
			if _, there := got[fold(goos, name)]; there {
				number := gitSetting.FindStringSubmatch(name)
				require.NotNil(t, number, "withheld, and there: %q", name)
				require.Equal(t, "toolproc.withheld", got[fold(goos, "GIT_CONFIG_KEY_"+number[1])], "%q", name)
			}
		}
		if p.Inherit == envpolicy.InheritAll && p.IncludeOnly == nil && !strings.Contains(strings.ToUpper(request+unset), "GIT_CONFIG_") {
			if n := pairsOfGit(goos, inherited); pairsOfGit(goos, got) >= 0 {
				require.Equal(t, n, pairsOfGit(goos, got), "%q", got)
			}
		}
		for _, name := range report.Overridden {
			require.Contains(t, got, fold(goos, name), "overridden, and not there")
			require.NotEqual(t, inherited[fold(goos, name)], got[fold(goos, name)], "%q", name)
		}
	})
}

var gitSetting = regexp.MustCompile(`(?i)^GIT_CONFIG_(?:KEY|VALUE)_([0-9]+)$`)

// pairsOfGit returns how many whole pairs of git settings vars has before the
// first broken pair, or -1 if git reads none.
func pairsOfGit(goos string, vars map[string]string) int {
	count, err := strconv.Atoi(vars[fold(goos, "GIT_CONFIG_COUNT")])
	if err != nil {
		return -1
	}
	for i := range count {
		_, key := vars[fold(goos, fmt.Sprint("GIT_CONFIG_KEY_", i))]
		_, value := vars[fold(goos, fmt.Sprint("GIT_CONFIG_VALUE_", i))]
		if !key || !value {
			return i
		}
	}
	return count
}

func lines(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, "\n")
}

func fold(goos, name string) string {
	if goos == "windows" {
		return strings.ToLower(name)
	}
	return name
}

// split returns the name and the value of an entry. A malformed entry has no
// name.
func split(goos, entry string) (name, value string) {
	i := strings.Index(entry, "=")
	if goos == "windows" && i == 0 {
		if i = strings.Index(entry[1:], "=") + 1; i == 1 {
			return "", ""
		}
	}
	if i <= 0 {
		return "", ""
	}
	return entry[:i], entry[i+1:]
}

func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return envpolicy.Match(p, name) })
}
