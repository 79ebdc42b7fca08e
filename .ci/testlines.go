// Testlines reads what go test -json prints, and prints what go test would have
// printed without -json: one line for each package, and the output of each test
// that failed. Then it names each test that was skipped, and why.
//
//	go test -json ./... | testlines -no-skips
//
// With -no-skips it fails if a test was skipped. A test cannot hide that: the
// events come from the testing package, and not from what a test has printed.
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"strings"
)

// An event is what go doc cmd/test2json says.
type event struct {
	Action, Package, Test, Output string
}

// A run is one package's: what it has printed, and how its tests have ended.
type run struct {
	printed []event
	ended   map[string]string // by test
	over    bool
}

func main() {
	noSkips := flag.Bool("no-skips", false, "fail if a test was skipped")
	flag.Parse()
	runs := make(map[string]*run)
	var skipped []string
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadString('\n')
		var e event
		switch {
		case json.Unmarshal([]byte(line), &e) != nil:
			fmt.Print(line)
		case e.Action == "build-output":
			fmt.Print(e.Output)
		case e.Package != "":
			r := runs[e.Package]
			if r == nil {
				r = &run{ended: make(map[string]string)}
				runs[e.Package] = r
			}
			skipped = append(skipped, r.take(e)...)
			if r.over {
				delete(runs, e.Package)
			}
		}
		if err != nil {
			break
		}
	}
	for name, r := range runs { // go test itself was ended
		fmt.Printf("%s has not ended:\n", name)
		r.print(false)
	}
	if len(skipped) == 0 {
		return
	}
	fmt.Printf("skipped:\n\t%s\n", strings.Join(skipped, "\n\t"))
	if *noSkips {
		fmt.Println("FAIL: no test may be skipped here")
		os.Exit(1)
	}
}

// take notes an event, and prints the package when that is the last one. It
// returns the test that the event says was skipped.
func (r *run) take(e event) (skipped []string) {
	switch e.Action {
	case "output":
		r.printed = append(r.printed, e)
	case "pass", "fail", "skip":
		if e.Test == "" {
			r.print(e.Action != "fail")
			r.over = true
			return nil
		}
		r.ended[e.Test] = e.Action
		if e.Action == "skip" {
			return []string{e.Package + " " + e.Test + ": " + r.reason(e.Test)}
		}
	}
	return nil
}

// print prints the last line of a package that passed, and of one that failed
// all but what tests have printed that did not fail.
func (r *run) print(passed bool) {
	last := len(r.printed) - 1
	for i, e := range r.printed {
		own := e.Test == "" || r.ended[e.Test] != "pass" && r.ended[e.Test] != "skip"
		switch {
		case passed && i == last, !passed && own && !strings.HasPrefix(e.Output, "=== "):
			fmt.Print(e.Output)
		}
	}
}

// reason returns what a test has printed, without what the testing package has
// put around it.
func (r *run) reason(test string) string {
	var all []string
	for _, e := range r.printed {
		text := strings.TrimSpace(e.Output)
		if e.Test == test && text != "" && !strings.HasPrefix(text, "=== ") && !strings.HasPrefix(text, "--- ") {
			all = append(all, text)
		}
	}
	return strings.Join(all, "; ")
}
