package linediff

import "strings"

// minPointer is how many digits an argument of a frame of Go has at least if it is
// taken for an address. A smaller one may be a number that matters.
const minPointer = 8

// addresses masks the hex addresses of a line of a stack trace.
func (m *masks) addresses(line string) {
	hex := strings.Index(line, "0x")
	if hex < 0 {
		return
	}
	begin := strings.TrimLeft(line, " \t")
	indent := len(line) - len(begin)
	// hexAt masks the number whose 0x stands at an offset, if what has to be there
	// is behind it.
	hexAt := func(at int, behind string) {
		n := hexDigits(line[at+2:])
		if end := at + 2 + n; n > 0 && strings.HasPrefix(line[end:], behind) {
			m.add(at+2, end, formAddress)
		}
	}
	switch c := begin[0]; {
	case c == '#': // #0  0x4f2a3b in main
		if n := digits(begin[1:]); n > 0 && blanksTo(begin[1+n:], hex-indent-1-n) {
			hexAt(hex, " in ")
		}
	case c >= '0' && c <= '9': // 12: 0x55d0c0f1 - std::panicking
		if n := digits(begin); indent > 0 && strings.HasPrefix(begin[n:], ":") && blanksTo(begin[n+1:], hex-indent-n-1) {
			hexAt(hex, " - ")
		}
	case strings.HasPrefix(line, "\t"): // /src/main.go:12 +0x1d4
		at := strings.LastIndex(line, " +0x")
		if at > 0 && goPosition(line[1:at]) && at+4+hexDigits(line[at+4:]) == len(line) && at+4 < len(line) {
			m.add(at+4, len(line), formAddress)
		}
	case strings.HasPrefix(line, "[signal ") && strings.HasSuffix(line, "]"): // ... addr=0x0 pc=0x4a5b6c]
		if at := strings.LastIndex(line, " pc=0x"); at > 0 && at+6+hexDigits(line[at+6:]) == len(line)-1 {
			hexAt(at+4, "]")
		}
	case strings.HasPrefix(line, "Thread 0x"), strings.HasPrefix(line, "Current thread 0x"):
		hexAt(hex, " (most recent call first)")
	case indent == 0 && line[len(line)-1] == ')':
		m.arguments(line)
	}
}

// blanksTo reports whether a text has n blanks at its beginning, at least one.
func blanksTo(text string, n int) bool { return n > 0 && strings.Trim(text[:n], " ") == "" }

// goPosition reports whether a text is the name of a file and a line in it.
func goPosition(text string) bool {
	i := strings.LastIndexByte(text, ':')
	return i > 0 && i+1 < len(text) && digits(text[i+1:]) == len(text)-i-1
}

// arguments masks the addresses in the arguments of a function in a stack trace of
// Go, main.f(0xc000012345, {0x4a5b6c, 0x3}), which has nothing else in its brackets.
func (m *masks) arguments(line string) {
	open := strings.LastIndexByte(line, '(')
	if c := line[0] | 0x20; open <= 0 || (c < 'a' || c > 'z') && line[0] != '_' || strings.ContainsAny(line[:open], " \t") || !strings.Contains(line[:open], ".") {
		return
	}
	begun := len(m.spans)
	for i := open + 1; i < len(line)-1; {
		switch {
		case strings.HasPrefix(line[i:], "0x"):
			n := hexDigits(line[i+2:])
			if n >= minPointer {
				m.add(i+2, i+2+n, formAddress)
			}
			i += 2 + n
			if n == 0 {
				m.spans = m.spans[:begun]
				return
			}
		case strings.IndexByte("{}, ._?", line[i]) >= 0:
			i++
		default:
			m.spans = m.spans[:begun] // an argument that Go does not print
			return
		}
	}
}
