package main

import (
	"flag"
	"fmt"
	"os"
	"text/tabwriter"

	"github.com/toolproc/toolproc/sandbox"
)

// showSandbox prints what becomes of what commands may try in a sandbox.
func showSandbox(flags *flag.FlagSet, args []string) error {
	if _, err := parse(flags, args, 0, 0); err != nil {
		return err
	}
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(w, "ATTEMPT\tACCIDENTS\tBOUNDARY") // Flush has the error
	for _, f := range sandbox.Probe() {
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", f.Attempt, f.Accidents, f.Boundary)
	}
	return w.Flush()
}
