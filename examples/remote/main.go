// Command remote runs the commands of a model on another machine. A daemon
// there runs the commands, and the agent here has the usual four tools.
//
//	go run ./examples/remote          # shows both on this machine, over TLS
//
// The show kills its agent in the middle of a command, and the next agent goes
// on with that command. To try the parts by themselves, with the daemon toolprocd:
//
//	remote keys  -dir keys
//	toolprocd serve -listen 127.0.0.1:8443 -token-file keys/token -tls-cert keys/cert.pem -tls-key keys/key.pem
//	remote agent -url https://127.0.0.1:8443 -keys keys -chat chat-1
//
// and then type {"name":"execute","arguments":{"command":"hostname"}}.
//
// The token is in a file, because everybody on a machine can read the arguments
// of a program. [docs/security.md] says what the token protects from, and what it
// does not protect from.
//
// [docs/security.md]: https://github.com/toolproc/toolproc/blob/main/docs/security.md
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"

	"golang.org/x/xerrors"
)

func main() {
	role, args := "show", os.Args[1:]
	if len(args) > 0 {
		role, args = args[0], args[1:]
	}
	var err error
	switch role {
	case "show":
		err = show(os.Stdout)
	case "agent":
		err = agent(args, os.Stdin, os.Stdout)
	case "keys":
		err = keys(args)
	default:
		err = xerrors.Errorf("there is no role %q; there are show, agent and keys", role)
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintf(os.Stderr, "remote %s: %v\n", role, err)
		os.Exit(1)
	}
}
