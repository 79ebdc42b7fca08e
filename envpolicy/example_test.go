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
	env, report := policy.Apply(base, map[string]string{"PORT": "8080"})
	fmt.Println(env[:2])
	fmt.Println("withheld:", report.Withheld)
	fmt.Println("overridden:", report.Overridden)
	// Output:
	// [PATH=/usr/bin PAGER=cat]
	// withheld: [DATABASE_URL OPENAI_API_KEY]
	// overridden: [PAGER]
}

// This host wants its commands to use one of its keys, and to see little else.
func ExamplePolicy() {
	policy := envpolicy.Policy{
		Allow:       []string{"GH_TOKEN"},
		IncludeOnly: append(envpolicy.CoreNames("linux"), "GH_TOKEN", "GO*"),
		Set:         map[string]string{"GOFLAGS": "-mod=readonly"},
		Interactive: true, // keeps this example short: no EDITOR, PAGER and so on
	}
	env, report := policy.Apply([]string{
		"HOME=/home/user",
		"GOPATH=/home/user/go",
		"GOFLAGS=-mod=mod",
		"GH_TOKEN=allowed",
		"NPM_TOKEN=not allowed",
		"WINDOWID=42",
	}, nil)
	for _, entry := range env {
		fmt.Println(entry)
	}
	fmt.Println("withheld:", report.Withheld)
	// Output:
	// HOME=/home/user
	// GOPATH=/home/user/go
	// GOFLAGS=-mod=readonly
	// GH_TOKEN=allowed
	// withheld: [NPM_TOKEN]
}

// The default patterns can also find the secrets in other lists, such as
// settings that a person is about to share.
func ExampleSecretNames() {
	for _, pattern := range envpolicy.SecretNames() {
		switch pattern {
		case "*_TOKEN", "*_API_KEY", "*_PAT", "*_PAT_*":
			fmt.Println(pattern)
		}
	}
	// Output:
	// *_API_KEY
	// *_PAT
	// *_TOKEN
}

func ExampleNonInteractive() {
	vars := envpolicy.NonInteractive()
	fmt.Println(vars["PAGER"], vars["GIT_TERMINAL_PROMPT"], vars["TERM"])
	_, ok := vars["CI"]
	fmt.Println("CI:", ok)
	// Output:
	// cat 0 dumb
	// CI: false
}

func ExampleCoreNames() {
	fmt.Println(envpolicy.CoreNames("linux")[:4])
	fmt.Println(envpolicy.CoreNames("windows")[:4])
	// Output:
	// [ALL_PROXY CURL_CA_BUNDLE FTP_PROXY HOME]
	// [ALLUSERSPROFILE APPDATA COMPUTERNAME CommonProgramFiles*]
}
