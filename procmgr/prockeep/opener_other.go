//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package prockeep

import (
	"context"
	"errors"
	"log/slog"
	"net"
)

// runKeeper is Main: nothing starts a keeper here.
func runKeeper(makers) {}

// An opener fails: no process outlives its program here, or there are no sockets
// that are a user's own.
type opener struct {
	options passed
	require []string
	log     *slog.Logger
}

func (o *opener) take(string) error                       { return errors.ErrUnsupported }
func (o *opener) connect(context.Context) (*line, error)  { return nil, errors.ErrUnsupported }
func (o *opener) stop(context.Context) error              { return errors.ErrUnsupported }
func (o *opener) isLost() bool                            { return false }
func (o *opener) recall(context.Context) (*line, error)   { return nil, errors.ErrUnsupported }
func (o *opener) upgrade(context.Context) error           { return errors.ErrUnsupported }
func (o *opener) socket() string                          { return "" }
func absent(context.Context, string) bool                 { return false }
func dial(context.Context, string) (*net.UnixConn, error) { return nil, errors.ErrUnsupported }
func checkPeer(*net.UnixConn) error                       { return errors.ErrUnsupported }
func isAbsent(error) bool                                 { return false }
func bootID() string                                      { return "" }
func (l *line) alive() bool                               { return false }
