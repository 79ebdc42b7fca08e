//go:build !(linux || darwin || freebsd || netbsd || openbsd || dragonfly)

package prockeep

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"

	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Here, no process outlives its program, or there are no sockets that are a user's own.

const maxDirectory = 1 << 10

// Main turns the program into a keeper if Open has started it as one. Here it does
// nothing.
func Main(...func(json.RawMessage) (proclocal.Sandbox, error)) {}

var errAbsent = errors.New("no keeper runs")

func (h *Host) launch(context.Context) error                 { return errors.ErrUnsupported }
func lockDir(context.Context, string) (*os.File, error)      { return nil, errors.ErrUnsupported }
func dial(context.Context, string, string) (net.Conn, error) { return nil, errors.ErrUnsupported }
func isDead(string, string) bool                             { return true }
func isBroken(error) bool                                    { return false }
func namedKeepers(string) []string                           { return nil }
func socketPath(string, string) string                       { return "" }
func checkDir(string) error                                  { return errors.ErrUnsupported }
func makeDir(string) error                                   { return errors.ErrUnsupported }
func lockShared(*os.File) error                              { return errors.ErrUnsupported }
func lockExclusive(*os.File) bool                            { return false }
func isAt(string, fs.FileInfo) bool                          { return false }
