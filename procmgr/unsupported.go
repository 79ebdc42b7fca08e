package procmgr

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/xerrors"
)

// Unsupported is a [Manager] that can do nothing: the error of every method is
// [errors.ErrUnsupported]. A type that embeds it is a Manager, implements what it
// can, and stays one if a later version adds a method.
type Unsupported struct{}

var _ Manager = Unsupported{}

// unsupported is the error of one call.
func unsupported(call, id string) error {
	if id != "" {
		call += fmt.Sprintf(" %.80q", id)
	}
	return xerrors.Errorf("procmgr: %s: the manager cannot do this: %w", call, errors.ErrUnsupported)
}

// Start implements [Manager].
func (Unsupported) Start(_ context.Context, req StartRequest) (Output, error) {
	return Output{}, unsupported("start", req.ID)
}

// Output implements [Manager].
func (Unsupported) Output(_ context.Context, id string, _ OutputRequest) (Output, error) {
	return Output{}, unsupported("output", id)
}

// Input implements [Manager].
func (Unsupported) Input(_ context.Context, id string, _ InputRequest) (InputOutput, error) {
	return InputOutput{}, unsupported("input", id)
}

// Signal implements [Manager].
func (Unsupported) Signal(_ context.Context, id string, _ Signal) error {
	return unsupported("signal", id)
}

// List implements [Manager].
func (Unsupported) List(context.Context, ListRequest) (ListPage, error) {
	return ListPage{}, unsupported("list", "")
}

// Events implements [Manager].
func (Unsupported) Events(context.Context, EventsRequest) (EventPage, error) {
	return EventPage{}, unsupported("events", "")
}

// Describe implements [Manager].
func (Unsupported) Describe(context.Context) (Description, error) {
	return Description{}, unsupported("describe", "")
}
