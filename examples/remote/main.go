// Command remote runs the commands of a model on another machine. A daemon
// there runs the commands, and the agent here has the usual four tools.
//
//	go run ./examples/remote          # shows both on this machine, over TLS
//	go run ./examples/remote -unix    # the same over a unix socket
//
// The show kills its agent in the middle of a command, and the next agent goes
// on with that command. To try the parts by themselves:
//
//	remote keys  -dir keys
//	remote serve -listen 127.0.0.1:8443 -token-file keys/token -cert keys/cert.pem -key keys/key.pem
//	remote agent -url https://127.0.0.1:8443 -token-file keys/token -ca keys/cert.pem -chat chat-1
//
// and then type {"name":"execute","arguments":{"command":"hostname"}}. A unix
// socket that only its user can open needs neither token nor certificate:
//
//	remote serve -unix keys/socket
//	remote agent -url unix://$PWD/keys/socket -chat chat-1
//
// The token is in a file, because everybody on a machine can read the arguments
// of a program. docs/security.md says what the token protects from, and what it
// does not protect from.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"

	"golang.org/x/xerrors"
)

func main() { os.Exit(remote(os.Args[1:])) }

// remote returns the exit code.
func remote(args []string) int {
	role := "show"
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		role, args = args[0], args[1:]
	}
	var err error
	switch role {
	case "show":
		err = show(args, os.Stdout)
	case "serve":
		err = serve(args, os.Stdout)
	case "agent":
		err = agent(args, os.Stdin, os.Stdout)
	case "keys":
		err = keys(args)
	default:
		err = xerrors.Errorf("there is no role %q; there are show, serve, agent and keys, each with -h", role)
	}
	switch {
	case err == nil, errors.Is(err, flag.ErrHelp):
		return 0
	default:
		fmt.Fprintf(os.Stderr, "remote %s: %v\n", role, err)
		return 1
	}
}

// parse reads the flags of a role. A role takes no other arguments.
func parse(flags *flag.FlagSet, args []string) error {
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return xerrors.Errorf("unexpected argument %q", flags.Arg(0))
	}
	return nil
}
