package envpolicy_test

import (
	"fmt"

	"github.com/toolproc/toolproc/envpolicy"
)

func ExamplePolicy_Apply() {
	base := []string{ // usually os.Environ()
		"PATH=/usr/bin",
		"OPENAI_API_KEY=the host's own",
		"DATABASE_URL=postgres://app:hunter2@db/prod",
		"PAGER=less",
	}
	var policy envpolicy.Policy // the zero value is the default
	env, withheld := policy.Apply(base)
	fmt.Println(env[:2])
	fmt.Println("withheld:", withheld)
	// Output:
	// [PATH=/usr/bin APT_LISTCHANGES_FRONTEND=none]
	// withheld: [DATABASE_URL OPENAI_API_KEY]
}

// This host starts from nothing, lets through what programs need and what it names,
// and wants its commands to use one of its keys.
func ExamplePolicy() {
	policy := envpolicy.Policy{
		IncludeOnly: append(envpolicy.CoreNames(), "*_TOKEN", "GO*"),
		Allow:       []string{"GH_TOKEN"},
		Set:         map[string]string{"GOFLAGS": "-mod=readonly"},
		Interactive: true, // keeps this example short: no EDITOR, PAGER and so on
	}
	env, withheld := policy.Apply([]string{
		"HOME=/home/user",
		"GOPATH=/home/user/go",
		"GOFLAGS=-mod=mod",
		"GH_TOKEN=allowed",
		"NPM_TOKEN=not allowed",
		"WINDOWID=42",
	})
	for _, entry := range env {
		fmt.Println(entry)
	}
	fmt.Println("withheld:", withheld)
	// Output:
	// HOME=/home/user
	// GOPATH=/home/user/go
	// GH_TOKEN=allowed
	// GOFLAGS=-mod=readonly
	// withheld: [NPM_TOKEN]
}

func ExampleNonInteractive() {
	vars := envpolicy.NonInteractive()
	fmt.Println(vars["PAGER"], vars["GIT_TERMINAL_PROMPT"], vars["TERM"])
	// Output: cat 0 dumb
}

func ExampleIsSecret() {
	fmt.Println(envpolicy.IsSecret("openaiApiKey", "x"), envpolicy.IsSecret("MAX_TOKENS", "4096"))
	// Output: true false
}
