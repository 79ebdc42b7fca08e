package linediff

import "strings"

// The forms of a duration: each is compared with its own alone.
const (
	formSeconds = 's'
	formMillis  = 'm'
	formPlain   = 'n' // the number behind duration_ms
)

// duration returns where the number of the duration is with which the line of a
// test runner ends. The form is 0 if it is none.
func duration(line string) (from, to int, form byte) {
	line = strings.TrimRight(line, " \t")
	if line == "" {
		return 0, 0, 0
	}
	begin := strings.TrimLeft(line, " \t")
	indent := len(line) - len(begin)
	switch line[len(line)-1] {
	case ')', ']':
		return bracketed(line, begin)
	case '=': // === 3 passed in 0.12s ===
		if indent > 0 || line[0] != '=' {
			return 0, 0, 0
		}
		rest := strings.TrimRight(line, "=")
		if !strings.HasSuffix(rest, " ") {
			return 0, 0, 0
		}
		return behindIn(rest[:len(rest)-1])
	case 's':
		switch {
		case indent == 0 && (strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "FAIL\t") || strings.HasPrefix(line, "ok\t")):
			return packageLine(line)
		case indent == 0 && strings.HasPrefix(line, "test result: "), indent == 0 && strings.HasPrefix(line, "Ran ") && strings.Contains(line, " test"):
			return behindIn(line)
		}
		return 0, 0, 0
	}
	for _, name := range [...]string{"ℹ duration_ms ", "# duration_ms ", "duration_ms: "} {
		if number, ok := strings.CutPrefix(begin, name); ok && isNumber(number) {
			return len(line) - len(number), len(line), formPlain
		}
	}
	return 0, 0, 0
}

// unit returns where the number is with which a text ends, before a unit. A number
// of seconds has a fraction.
func unit(text string) (from, to int, form byte) {
	form = formSeconds
	number, ok := strings.CutSuffix(text, "ms")
	if ok {
		form = formMillis
	} else if number, ok = strings.CutSuffix(text, "s"); !ok {
		return 0, 0, 0
	}
	number = strings.TrimSuffix(number, " ")
	to = len(number)
	from = to
	for from > 0 && (number[from-1] >= '0' && number[from-1] <= '9' || number[from-1] == '.') {
		from--
	}
	number = number[from:]
	if !isNumber(number) || form == formSeconds && !strings.Contains(number, ".") {
		return 0, 0, 0
	}
	return from, to, form
}

// isNumber reports whether a text is decimal digits, with a fraction or not.
func isNumber(text string) bool {
	n := digits(text)
	if n == 0 || n == len(text) {
		return n > 0
	}
	return text[n] == '.' && n+1 < len(text) && digits(text[n+1:]) == len(text)-n-1
}

// behindIn returns the duration behind the " in " with which a text ends.
func behindIn(text string) (from, to int, form byte) {
	from, to, form = unit(text)
	if form == 0 || !strings.HasSuffix(text[:from], " in ") {
		return 0, 0, 0
	}
	return from, to, form
}

// packageLine returns the duration of a line of go test that has a package alone.
func packageLine(line string) (from, to int, form byte) {
	fields := strings.Fields(line)
	if len(fields) != 3 {
		return 0, 0, 0
	}
	from, to, form = unit(line)
	if form != formSeconds || len(line)-from != len(fields[2]) {
		return 0, 0, 0
	}
	return from, to, form
}

// verdicts are the beginnings of the lines in which a test runner tells what came
// of a test.
var verdicts = [...]string{
	"--- PASS: ", "--- FAIL: ", "--- SKIP: ", // go test
	"PASS ", "FAIL ", "PASSED ", "FAILED ", "SKIPPED ", "(pass) ", "(fail) ", "(skip) ", "test ", "ok ", "not ok ",
	"[       OK ] ", "[  FAILED  ] ", "[  PASSED  ] ", "[  SKIPPED ] ", "[----------] ", "[==========] ", // googletest
	"✓ ", "✔ ", "√ ", "✗ ", "✘ ", "✕ ", "✖ ", "× ", "▶ ",
}

// bracketed returns the duration in brackets with which a line ends, if it begins
// with a verdict. begin is the line without its indentation.
func bracketed(line, begin string) (from, to int, form byte) {
	inner := line[:len(line)-1]
	if line[len(line)-1] == ')' {
		inner = strings.TrimSuffix(inner, " total") // googletest's last line but one
	}
	from, to, form = unit(inner)
	opening := map[byte]byte{')': '(', ']': '['}[line[len(line)-1]]
	if form == 0 || from < 2 || line[from-1] != opening || line[from-2] != ' ' || !verdict(begin) {
		return 0, 0, 0
	}
	return from, to, form
}

// verdict reports whether a line, without its indentation, tells what came of a
// test, or of all.
func verdict(line string) bool {
	for _, v := range verdicts {
		if strings.HasPrefix(line, v) {
			return true
		}
	}
	n := digits(line)
	if n == 0 || n == len(line) {
		return false
	}
	for _, word := range [...]string{" passing ", " failing ", " passed ", " failed "} {
		if strings.HasPrefix(line[n:], word) {
			return true
		}
	}
	return false
}
