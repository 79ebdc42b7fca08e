package capture

import (
	"io"

	"github.com/toolproc/toolproc/procmgr/internal/charset"
)

// A decoder is the stage that decodes what is not UTF-8.
type decoder struct {
	*charset.Decoder
	next io.Writer
}

// newDecoder returns the stage before another one.
func newDecoder(next io.Writer) io.Writer { return decoder{charset.New(charset.System()), next} }

func (d decoder) Write(p []byte) (int, error) { return d.next.Write(d.Decoder.Write(p)) }

func (d decoder) Close() error {
	_, err := d.next.Write(d.End())
	return err
}
