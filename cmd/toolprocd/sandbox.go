package main

import (
	"errors"
	"flag"
	"reflect"

	"github.com/toolproc/toolproc/contrib/sandbox"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// rules are the flags of a sandbox. The zero value asks for none.
type rules struct {
	policy              sandbox.Policy
	noNetwork, boundary bool
}

// ruleFlags adds the flags of a sandbox.
func ruleFlags(flags *flag.FlagSet) *rules {
	var r rules
	paths := func(name, usage string, to *[]string) {
		flags.Func(name, usage, func(path string) error {
			if path == "" {
				return errors.New("the path is empty")
			}
			*to = append(*to, path)
			return nil
		})
	}
	paths("write", "let commands write below this `directory` and in $TMPDIR alone; it may be given again, as -read, -protect and -hide may", &r.policy.Write)
	paths("read", "with -unix-sockets: a `path` that they read besides the system's directories", &r.policy.Read)
	paths("protect", "with -boundary: a `directory` below one of -write that they may not write all the same", &r.policy.Protect)
	paths("hide", "with -boundary: a `directory` that they can neither read nor list, or a link to a file in one", &r.policy.Hide)
	flags.BoolVar(&r.noNetwork, "no-network", false, "let commands reach no network, and write as -write says")
	flags.BoolVar(&r.policy.UnixSockets, "unix-sockets", false, "with -boundary: let commands use Unix sockets, and see the system's directories, -read and -write alone")
	flags.BoolVar(&r.boundary, "boundary", false, "stop a command that wants to get out, too; it takes bubblewrap")
	return &r
}

// asked reports whether the flags ask for a sandbox.
func (r *rules) asked() bool { return !reflect.DeepEqual(*r, rules{}) }

// open makes the sandbox that the flags ask for; it is nil if they ask for none. unbox
// ends it.
func (r *rules) open() (box proclocal.Sandbox, unbox func() error, err error) {
	if !r.asked() {
		return nil, func() error { return nil }, nil
	}
	p := r.policy
	if r.noNetwork {
		p.Network = sandbox.NoNetwork
	}
	if r.boundary {
		p.Level = sandbox.Boundary
	}
	made, err := sandbox.New(p)
	if err != nil {
		return nil, nil, err
	}
	return made, made.Close, nil
}
