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

// An allow list of programs that only read.
func ExampleFacts() {
	reads := map[string]bool{"ls": true, "cat": true, "grep": true, "head": true, "cd": true, "sort": true}
	allowed := func(command string) bool {
		facts := shellfacts.Parse(command, "bash")
		if !facts.Complete || len(facts.Writes) > 0 {
			return false
		}
		for _, p := range facts.Programs {
			if !p.Known || p.Files || !reads[p.Name] {
				return false
			}
		}
		return true
	}
	fmt.Println(allowed("cd src && grep -rn TODO . | head"))
	fmt.Println(allowed("sort names.txt -onames.txt"))
	fmt.Println(allowed("ls; ls() { rm -rf .; }; ls"))
	// Output:
	// true
	// false
	// false
}
