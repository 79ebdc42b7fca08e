package charset

import (
	"golang.org/x/sys/windows"
	"golang.org/x/text/encoding"
)

var getOEMCP = windows.NewLazySystemDLL("kernel32.dll").NewProc("GetOEMCP")

// System returns the encoding of the console's programs, nil if it is UTF-8 or not
// known. It reports whether programs of this system print other than UTF-8 at all.
func System() (encoding.Encoding, bool) {
	number, _, _ := getOEMCP.Call() // it never fails
	return CodePage(uint32(number)), true
}
