//go:build !windows

package charset

import "golang.org/x/text/encoding"

// System returns the encoding of the console's programs, nil if it is UTF-8 or not
// known. It reports whether programs of this system print other than UTF-8 at all.
func System() (encoding.Encoding, bool) { return nil, false }
