package check

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolproc/toolproc/procmgr"
)

// maxPaths is how many paths a field of the rules has, and maxPath how many bytes a path.
const (
	maxPaths = 64
	maxPath  = 4096
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
		return path == "" || len(path) > maxPath || !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl)
	})
	return kept[:min(len(kept), maxPaths)]
}
