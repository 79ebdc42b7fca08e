package linediff

import "strings"

// clock returns where the date and the time of day are with which a line begins.
// ok is false if it begins with none, or if it has nothing else.
func clock(line string) (from, to int, ok bool) {
	closed := byte(0)
	switch line[0] {
	case '[':
		from, closed = 1, ']'
	case '(':
		from, closed = 1, ')'
	}
	to = from
	text := line[from:]
	n := date(text)
	if n > 0 {
		to += n
		sep := line[to:]
		if len(sep) > 1 && (sep[0] == ' ' || sep[0] == 'T' || sep[0] == '_') {
			if t := timeOfDay(sep[1:]); t > 0 {
				to += 1 + t
			}
		}
	} else if n = timeOfDay(text); n > 0 {
		to += n
	} else {
		return 0, 0, false
	}
	// A zone is no part of it, and is compared.
	rest := line[to:]
	zone := 0
	if rest != "" && (rest[0] == 'Z' || rest[0] == '+' || rest[0] == '-') && strings.IndexByte(line[from:to], ':') >= 0 {
		zone = 1
		if rest[0] != 'Z' {
			zone += digits(rest[1:])
			if zone < len(rest) && rest[zone] == ':' {
				zone += 1 + digits(rest[zone+1:])
			}
		}
	}
	rest = rest[zone:]
	switch {
	case rest == "":
		return 0, 0, false
	case closed != 0 && rest[0] == closed && len(rest) > 1:
	case closed != 0 && strings.IndexByte(rest, closed) > 0 && rest[0] == ' ':
	case closed == 0 && (rest[0] == ' ' || rest[0] == '\t') && strings.TrimLeft(rest, " \t") != "":
	case closed == 0 && rest[0] == ':' && strings.HasPrefix(rest, ": ") && len(rest) > 2:
	default:
		return 0, 0, false
	}
	return from, to, true
}

// clock masks the digits of a date and a time of day. Each run of them has a mask
// of its own, and what stands between them is compared: so the form is. The name
// of a month is masked too. A fraction of a second is one mask, however many
// digits it has.
func (m *masks) clock(line string, from, to int) {
	for i := from; i < to; {
		n := digits(line[i:to])
		switch {
		case n > 0:
			// Two digits stay two, and four stay four.
			form := byte(formDate)
			if fraction := i > from && (line[i-1] == '.' || line[i-1] == ',') && strings.IndexByte(line[from:i], ':') >= 0; !fraction {
				form = '0' + byte(min(n, 9))
			}
			m.add(i, i+n, form)
			i += n
		case month(line[i:to]):
			n = 3
			if line[i+3] == ' ' && line[i+4] == ' ' {
				n++ // the day has one digit
			}
			// The day goes with the month, since its width differs.
			day := i + n
			for day < to && (line[day] == ' ' || line[day] >= '0' && line[day] <= '9') && day < i+6 {
				day++
			}
			m.add(i, day, 'M')
			i = day
		default:
			i++
		}
	}
}

// date returns the length of the date that a text begins with: 2006-01-02,
// 2006/01/02, or Jan  2 with a time of day behind it, as in a syslog. It is 0 if
// there is none.
func date(text string) int {
	const form = len("2006-01-02")
	if len(text) >= form && digits(text) == 4 && (text[4] == '-' || text[4] == '/') && text[7] == text[4] {
		month, ok := twoDigits(text[5:])
		day, okay := twoDigits(text[8:])
		if ok && okay && month >= 1 && month <= 12 && day >= 1 && day <= 31 && digits(text[8:]) == 2 {
			return form
		}
		return 0
	}
	if width := len("Jan  2"); month(text) && len(text) > width+1 {
		day := strings.TrimLeft(text[4:width], " ")
		if n := digits(day); n == len(day) && n > 0 && day[0] != '0' && text[width] == ' ' && timeOfDay(text[width+1:]) > 0 && (len(day) == 1 || day <= "31") {
			return width
		}
	}
	return 0
}

// month reports whether a text begins with the name of a month and a blank.
func month(text string) bool {
	const months = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec "
	return len(text) > 4 && text[3] == ' ' && text[0] != ' ' && strings.Index(months, text[:4])%4 == 0
}

// timeOfDay returns the length of the time of day that a text begins with:
// 15:04:05, with a fraction or not. It is 0 if there is none.
func timeOfDay(text string) int {
	const form = len("15:04:05")
	if len(text) < form || text[2] != ':' || text[5] != ':' {
		return 0
	}
	hour, ok := twoDigits(text)
	minute, okay := twoDigits(text[3:])
	second, fine := twoDigits(text[6:])
	if !ok || !okay || !fine || hour > 23 || minute > 59 || second > 60 || digits(text[6:]) != 2 {
		return 0
	}
	n := form
	if n+1 < len(text) && (text[n] == '.' || text[n] == ',') {
		if f := digits(text[n+1:]); f > 0 {
			n += 1 + f
		}
	}
	return n
}

// twoDigits returns the number that the first two bytes of a text are.
func twoDigits(text string) (n int, ok bool) {
	if len(text) < 2 || digits(text[:2]) < 2 {
		return 0, false
	}
	return int(text[0]-'0')*10 + int(text[1]-'0'), true
}
