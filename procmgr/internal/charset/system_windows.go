package charset

import (
	"golang.org/x/sys/windows"
	"golang.org/x/text/encoding"
)

var getOEMCP = windows.NewLazySystemDLL("kernel32.dll").NewProc("GetOEMCP")

// System returns the encoding of the console's programs, nil if it is UTF-8 or not
// known.
func System() encoding.Encoding {
	number, _, _ := getOEMCP.Call() // it never fails
	return CodePage(uint32(number))
}
