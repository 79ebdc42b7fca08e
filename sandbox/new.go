package sandbox

import "golang.org/x/xerrors"

// New returns a box that enforces a policy, or an error that names the part that this
// machine does not enforce. Then errors.Is(err, [errors.ErrUnsupported]) holds, as
// it does on every system but Linux.
func New(p Policy) (*Box, error) {
	b, err := open(p)
	if err != nil {
		return nil, xerrors.Errorf("sandbox: new: %w", err)
	}
	return b, nil
}
