//go:build !linux

package holder

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"github.com/toolproc/toolproc/procmgr/internal/carry"
)

// A Config says what a holder starts.
type Config struct {
	Args, Env []string
	Order     []byte
	Report    *os.File
	Failed    func(why string)
	MaxDeaths int
	Logger    *slog.Logger
}

// Supported reports whether there are holders on this system.
const Supported = false

// The descriptors of a keeper.
const (
	FDOrder  = 3
	FDReport = 4
)

// Run fails: there are no holders here.
func Run(Config) error { return errors.ErrUnsupported }

// A Link is the keeper's side of the connection to its holder. There is none here.
type Link struct{}

// Attach fails: there is no holder.
func Attach(*slog.Logger, func(string) error) (*Link, *Heritage, error) {
	return nil, nil, errors.ErrUnsupported
}

// Give does nothing.
func (*Link) Give(uint64, []string, []int) error { return errors.ErrUnsupported }

// Drop does nothing.
func (*Link) Drop(uint64, string) {}

// DropAll does nothing.
func (*Link) DropAll(uint64) {}

// Forget does nothing.
func (*Link) Forget(uint64) {}

// Leaders does nothing.
func (*Link) Leaders([]uint64, map[uint64]uint64) {}

// Await returns a channel that is closed.
func (*Link) Await(uint64, int) <-chan carry.Status {
	c := make(chan carry.Status)
	close(c)
	return c
}

// Settle does nothing.
func (*Link) Settle(bool) {}

// End does nothing.
func (*Link) End() {}

// Upgrade fails.
func (*Link) Upgrade(context.Context, *os.File, string) error { return errors.ErrUnsupported }

// Cancel does nothing.
func (*Link) Cancel() {}

// Store fails.
func (*Link) Store(*os.File) error { return errors.ErrUnsupported }

// Commit fails.
func (*Link) Commit() error { return errors.ErrUnsupported }
