package shellfacts_test

import (
	"fmt"

	"github.com/toolproc/toolproc/contrib/shellfacts"
)

func ExampleParse() {
	facts := shellfacts.Parse("cd src && timeout 10 sort -o names.txt names.txt | sh -c 'cat >> log'", "bash")
	for _, p := range facts.Programs {
		fmt.Println(p.Name, p.Args, p.Through)
	}
	for _, file := range facts.Writes {
		fmt.Println("writes", file.Path)
	}
	fmt.Println(facts.Complete)
	// Output:
	// cd [src] []
	// timeout [10 sort -o names.txt names.txt] []
	// sort [-o names.txt names.txt] [timeout]
	// sh [-c cat >> log] []
	// cat [] [sh]
	// writes src/names.txt
	// writes src/log
	// true
}

// A policy has to ask if facts are not complete.
func ExampleParse_unknown() {
	for _, command := range []string{
		"$X foo",
		"sort --compress-program=./x big",
		"x='a[$(ls)]'; echo $((x))",
		"git status",
	} {
		facts := shellfacts.Parse(command, "bash")
		fmt.Println(facts.Complete, facts.Why)
	}
	// Output:
	// false [$X is the name of a program]
	// false [an option of sort, compress-program, runs or writes what is not known]
	// false [x='a[$(ls)]' sets a variable $((x)) is an expansion that is not read]
	// true []
}
