package charset

import (
	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/korean"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/traditionalchinese"
)

var codePages = map[uint32]encoding.Encoding{
	437:  charmap.CodePage437,
	850:  charmap.CodePage850,
	852:  charmap.CodePage852,
	855:  charmap.CodePage855,
	858:  charmap.CodePage858,
	860:  charmap.CodePage860,
	862:  charmap.CodePage862,
	863:  charmap.CodePage863,
	865:  charmap.CodePage865,
	866:  charmap.CodePage866,
	874:  charmap.Windows874,
	932:  japanese.ShiftJIS,
	936:  simplifiedchinese.GBK,
	949:  korean.EUCKR,
	950:  traditionalchinese.Big5,
	1250: charmap.Windows1250,
	1251: charmap.Windows1251,
	1252: charmap.Windows1252,
	1253: charmap.Windows1253,
	1254: charmap.Windows1254,
	1255: charmap.Windows1255,
	1256: charmap.Windows1256,
	1257: charmap.Windows1257,
	1258: charmap.Windows1258,
}

// CodePage returns the encoding of a code page of Windows, or nil if it is UTF-8
// (65001) or one that golang.org/x/text does not have (such as 737, Greek, and 857,
// Turkish).
func CodePage(number uint32) encoding.Encoding { return codePages[number] }
