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
