// Command toolprocd is the far side: it runs commands on the machine on which it
// is, for a client elsewhere. It is one static file:
//
//	CGO_ENABLED=0 go install github.com/toolproc/toolproc/cmd/toolprocd@latest
//
// With a way to the machine that carries stdin and stdout, such as ssh or docker
// exec -i, nothing else is needed:
//
//	toolprocd stdio
//
// The client is prochttp.Command("ssh", "-T", "-o", "BatchMode=yes", "build",
// "toolprocd", "stdio"). It runs its commands in a keeper, see package prockeep,
// which stdio starts if there is none. So they outlive the connection: a client
// that comes back finds them under the same IDs.
//
// A person on that machine can look at them:
//
//	toolprocd ps                    # what lives, of all chats; -a: what has ended, too
//	toolprocd logs -f npc5orns6a    # Ctrl-C ends the look, and not the process
//	toolprocd kill npc5orns6a
//	toolprocd run make test         # and exit with its code
//	toolprocd upgrade               # a keeper of this program takes over; what runs goes on
//	toolprocd stop                  # the keeper
//
// All of them use the keeper of -dir, by default $XDG_STATE_HOME/toolproc or
// ~/.local/state/toolproc.
//
// With a port, or a socket of its own, toolprocd keeps the processes itself, and
// they end with it:
//
//	toolprocd serve -listen :8443 -tls-cert cert.pem -tls-key key.pem -token-file token
//	toolprocd serve -unix /run/user/1000/toolproc.sock
//
// With -write DIRECTORY, -no-network or -boundary, stdio, serve and run hold commands to
// the rules of a sandbox: see package sandbox.
//
// With -view, serve prints the URL of a page too, on which a person of that machine
// sees the processes: see package procview.
//
// [docs/remote.md] shows the ways, and [docs/security.md] says who is trusted with
// what.
//
// [docs/remote.md]: https://github.com/toolproc/toolproc/blob/main/docs/remote.md
// [docs/security.md]: https://github.com/toolproc/toolproc/blob/main/docs/security.md
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/contrib/sandbox"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// A command is a subcommand.
type command struct {
	name, args, about string
	run               func(flags *flag.FlagSet, args []string) error
}

var commands = []command{
	{"stdio", "", "serve the client at the other end of stdin and stdout", stdio},
	{"serve", "FLAGS", "serve clients on a port or a socket: see serve -h", serve},
	{"ps", "[-a]", "show what lives; -a: what has ended, too", ps},
	{"logs", "[-f] ID", "print the output of a process; -f: follow it", logs},
	{"kill", "[-s SIGNAL] ID...", "end processes: TERM (the default), INT or KILL", kill},
	{"run", "[-d] COMMAND...", "run a command and exit with its code; -d: leave it running", run},
	{"upgrade", "", "let a keeper of this program take over, when a newer one is installed", upgrade},
	{"stop", "[-f]", "end the keeper; -f: and all that lives", stop},
}

func usage() string {
	var b strings.Builder
	b.WriteString("toolprocd runs commands on this machine for a client elsewhere.\n\nusage:\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "  toolprocd %-27s %s\n", strings.TrimSpace(c.name+" "+c.args), c.about)
	}
	b.WriteString("\nAll but serve and sandbox use the keeper of -dir, which goes on when they end. Flags, and\n-h of each, stand after its name: toolprocd ps -dir DIRECTORY.\n")
	return b.String()
}

func main() {
	prockeep.Main(sandbox.FromJSON) // this program is also the keeper
	os.Exit(toolprocd(os.Args[1:]))
}

// An exit is the code to exit with, without a message.
type exit int

func (e exit) Error() string { return fmt.Sprintf("exit with %d", int(e)) }

// toolprocd returns the exit code.
func toolprocd(args []string) int {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage())
		return 2
	}
	name, args := args[0], args[1:]
	for _, c := range commands {
		if c.name != name {
			continue
		}
		flags := flag.NewFlagSet(name, flag.ContinueOnError)
		flags.SetOutput(io.Discard) // the error is printed below
		flags.Usage = func() {}
		err := c.run(flags, args)
		var code exit
		switch {
		case err == nil:
			return 0
		case errors.As(err, &code):
			return int(code)
		case errors.Is(err, context.Canceled):
			return codeInterrupted
		case errors.Is(err, flag.ErrHelp):
			fmt.Printf("usage: toolprocd %s\n%s.\n", strings.TrimSpace(c.name+" "+c.args), c.about)
			flags.SetOutput(os.Stdout)
			flags.PrintDefaults()
			return 0
		}
		fmt.Fprintf(os.Stderr, "toolprocd %s: %v\n", name, err)
		if name == "run" {
			return codeNotRun
		}
		return 1
	}
	if name == "help" || name == "-h" || name == "-help" || name == "--help" {
		fmt.Print(usage())
		return 0
	}
	fmt.Fprintf(os.Stderr, "toolprocd: there is no command %q\n\n%s", name, usage())
	return 2
}

// parse reads the flags, which may also stand behind other arguments, and returns
// those. It fails if there are fewer or more of them than wanted; -1 is any number.
func parse(flags *flag.FlagSet, args []string, least, most int) (words []string, err error) {
	for {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		rest := flags.Args()
		if len(rest) == 0 {
			break
		}
		if n := len(args) - len(rest); n > 0 && args[n-1] == "--" {
			words = append(words, rest...)
			break
		}
		words, args = append(words, rest[0]), rest[1:]
	}
	switch {
	case len(words) < least:
		return nil, errors.New("the ID of a process is missing; toolprocd ps shows them")
	case most >= 0 && len(words) > most:
		return nil, xerrors.Errorf("unexpected argument %q", words[most])
	}
	return words, nil
}
