package check

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolproc/toolproc/procmgr"
)

// Sandbox returns a copy of rules within their limits. nil stays nil.
func Sandbox(rules *procmgr.SandboxRules) *procmgr.SandboxRules {
	if rules == nil {
		return nil
	}
	return &procmgr.SandboxRules{
		Write:         paths(rules.Write),
		Protect:       paths(rules.Protect),
		Hide:          paths(rules.Hide),
		NoNetwork:     rules.NoNetwork,
		NoUnixSockets: rules.NoUnixSockets,
	}
}

func paths(all []string) []string {
	kept := slices.DeleteFunc(slices.Clone(all), func(path string) bool {
		return path == "" || len(path) > procmgr.MaxSandboxPath || !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl)
	})
	return kept[:min(len(kept), procmgr.MaxSandboxPaths)]
}
