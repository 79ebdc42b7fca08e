package input

import (
	"strconv"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/idempotency"
)

// Written tells what a request has written.
type Written struct {
	Before capture.Mark // the end of the output before the write
	N      int          // bytes of Data
	Err    error        // why not all was written
	Closed bool         // it has closed the pipe
	count  int64        // of the output's pieces before the write
	at     time.Time    // after the write
}

// FingerprintOf returns the fingerprint of what a request writes.
func FingerprintOf(req procmgr.InputRequest) idempotency.Fingerprint {
	parts := []string{"input", strconv.FormatBool(req.Close), strconv.FormatBool(req.Secret), string(req.Data)}
	for _, k := range req.Keys {
		parts = append(parts, string(k))
	}
	return idempotency.FingerprintOf(parts...)
}
