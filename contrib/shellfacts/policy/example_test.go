package policy_test

import (
	"context"
	"fmt"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/shellfacts/policy"
)

// The policy is for toolset.Options.Approve. Here a person is asked who always says no.
func ExampleNewAllowList() {
	list := policy.NewAllowList(policy.ReadOnly(), func(_ context.Context, question string, _ bool) (policy.Answer, error) {
		fmt.Println(question)
		return policy.No, nil
	})
	for _, command := range []string{"grep -rn TODO . | head", "cd web && rm -r build && make"} {
		verdict, err := list.Approve(context.Background(), toolset.Question{Command: command, Shell: "bash"})
		fmt.Println(verdict.Deny, err)
	}
	// Output:
	// false <nil>
	// Run "cd web && rm -r build && make"?
	//   - Run "rm" "-r" "build"
	//   - Run "make"
	//   - Change the file "web/build"
	// true <nil>
}
