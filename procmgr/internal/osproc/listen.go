package osproc

import "github.com/toolproc/toolproc/procmgr/internal/sockets"

// A Listen is a TCP socket on which a member of a tree listens.
type Listen = sockets.Listen
