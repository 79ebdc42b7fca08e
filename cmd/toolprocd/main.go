// Command toolprocd runs commands on its machine for a client elsewhere. It is one
// static file:
//
//	CGO_ENABLED=0 go install github.com/toolproc/toolproc/cmd/toolprocd@latest
//
// Over anything that carries stdin and stdout, such as ssh or docker exec -i, toolprocd
// stdio serves the client prochttp.Command("ssh", "-T", "-o", "BatchMode=yes", "build",
// "toolprocd", "stdio"). Its commands run in a keeper, see package prockeep, so they
// outlive the connection. On the machine itself, toolprocd ps, logs, kill, run, upgrade
// and stop use the same keeper.
//
// With toolprocd serve, commands run in toolprocd itself and end with it:
//
//	toolprocd serve -listen :8443 -tls-cert cert.pem -tls-key key.pem -token-file token
//	toolprocd serve -unix /run/user/1000/toolproc.sock
//
// [docs/remote.md] describes both, and [docs/security.md] says who is trusted with what.
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
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/contrib/sandbox"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// codeInterrupted is the exit code of a program that Ctrl-C has ended.
const codeInterrupted = 130

// A command is a subcommand.
type command struct {
	name, args, about string
	run               func(flags *flag.FlagSet, args []string) error
}

var commands = []command{
	{"stdio", "", "serve the client at the other end of stdin and stdout", stdio},
	{"serve", "FLAGS", "serve clients on a port or a socket: see serve -h", serve},
	{"ps", "[-a]", "show what lives; -a: what has ended, too", ps},
	{"logs", "[-f] ID", "print the output of a process; -f: follow it, and exit with its code", logs},
	{"kill", "[-s SIGNAL] ID...", "end processes: TERM (the default), INT or KILL", kill},
	{"run", "COMMAND...", "start a command and print its ID", run},
	{"upgrade", "", "let a keeper of this program take over, when a newer one is installed", upgrade},
	{"stop", "[-f]", "end the keeper; -f: and all that lives", stop},
}

func usage() string {
	var b strings.Builder
	b.WriteString("toolprocd runs commands on this machine for a client elsewhere.\n\nusage:\n")
	for _, c := range commands {
		fmt.Fprintf(&b, "  toolprocd %-27s %s\n", strings.TrimSpace(c.name+" "+c.args), c.about)
	}
	b.WriteString("\nAll but serve use the keeper of -dir, which goes on when they end. Flags, and -h of each,\nstand after its name: toolprocd ps -dir DIRECTORY.\n")
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
		return 1
	}
	if name == "help" || name == "-h" || name == "-help" || name == "--help" {
		fmt.Print(usage())
		return 0
	}
	fmt.Fprintf(os.Stderr, "toolprocd: there is no command %q\n\n%s", name, usage())
	return 2
}

// parse reads the flags and returns the arguments behind them. It fails if there are
// fewer or more of them than wanted; -1 is any number.
func parse(flags *flag.FlagSet, args []string, least, most int) ([]string, error) {
	err := flags.Parse(args)
	words := flags.Args()
	switch {
	case err != nil:
		return nil, err
	case len(words) < least:
		return nil, errors.New("the ID of a process is missing; toolprocd ps shows them")
	case most >= 0 && len(words) > most:
		return nil, xerrors.Errorf("unexpected argument %q: flags come first", words[most])
	}
	return words, nil
}

// untilAsked returns a context that ends when a signal asks this program to end.
func untilAsked() (context.Context, context.CancelFunc) {
	return signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
}
