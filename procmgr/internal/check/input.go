package check

import (
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// MaxInput is the largest Data of a request in bytes.
const MaxInput = 64 << 10

// Input returns an error that says why a request can never be carried out, or
// nil.
func Input(req procmgr.InputRequest) error {
	if req.IdempotencyKey != "" {
		if err := Name("key", req.IdempotencyKey); err != nil {
			return err
		}
	}
	if len(req.Data) > MaxInput {
		return xerrors.Errorf("the data has %d bytes, at most %d are allowed at a time: %w", len(req.Data), MaxInput, procmgr.ErrInvalid)
	}
	if len(req.Keys) > maxKeys {
		return xerrors.Errorf("there are %d keys, at most %d are allowed at a time: %w", len(req.Keys), maxKeys, procmgr.ErrInvalid)
	}
	for _, k := range req.Keys {
		if _, err := KeyBytes(k, false); err != nil {
			return err
		}
	}
	return nil
}

// Writes reports whether a request has anything to write.
func Writes(req procmgr.InputRequest) bool {
	return len(req.Data) > 0 || len(req.Keys) > 0 || req.Close
}
