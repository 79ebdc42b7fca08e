package plaintext_test

import (
	"fmt"
	"os"

	"github.com/toolproc/toolproc/headtail/plaintext"
)

func ExampleNewWriter() {
	w := plaintext.NewWriter(os.Stdout)
	fmt.Fprint(w, "\x1b[1mBuilding\x1b[0m\r\n")
	for i := 0; i <= 100; i += 10 {
		fmt.Fprintf(w, "\r\x1b[K%3d%%", i)
	}
	fmt.Fprint(w, "\r\n\x1b[32mok\x1b[0m\n")
	w.Flush()
	// Output:
	// Building
	//   0%
	// 100%
	// ok
}

// The newest state of a line can be seen before it is known to be the last.
func ExampleWriter_Pending() {
	w := plaintext.NewWriter(os.Stdout)
	fmt.Fprint(w, "connecting\r")
	fmt.Fprint(w, "10%\r50%")
	fmt.Printf(" (pending: %q)\n", w.Pending())
	fmt.Fprint(w, "\rOverwrite? [y/N] ")
	fmt.Printf("(pending: %q)\n", w.Pending())
	// Output:
	// connecting (pending: "\n50%")
	// (pending: "\nOverwrite? [y/N] ")
}
