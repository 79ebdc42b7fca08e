package redact

import (
	"net/url"
	"strings"
)

const (
	minWhole = 16 // a value that is masked without being named, in bytes
	minRun   = 12 // of letters and digits in it
)

// Of returns what to mask of a variable that holds a secret: the parts of its value
// that cannot be a word of ordinary output. They may be none.
//
// A part is a value of 16 bytes or more with 12 or more of A-Z a-z 0-9 + / = in a row,
// a letter and a digit among them, that is no path and no host name. If the value has
// several lines, each such line is a part, except the lines that begin and end a key in
// PEM. If it is a URL with a password, the parts are the URL, and the password if it
// has 12 such bytes.
func Of(name, value string) (parts []Value) {
	add := func(part string, least int) {
		if len(part) >= least && hasRun(part) && !isPath(part) && !isHost(part) {
			parts = append(parts, Value{name, part})
		}
	}
	if strings.Contains(value, "-----BEGIN") {
		value = strings.ReplaceAll(value, `\n`, "\n") // as in a file of variables
	}
	for line := range strings.SplitSeq(value, "\n") {
		line = strings.Trim(line, "\r \t")
		if strings.HasPrefix(line, "-----BEGIN ") || strings.HasPrefix(line, "-----END ") {
			continue
		}
		if written, password := passwordOf(line); written != "" {
			parts = append(parts, Value{name, line})
			add(written, minRun)
			if password != written {
				add(password, minRun)
			}
			continue
		}
		add(line, minWhole)
	}
	return parts
}

// passwordOf returns the password of a URL, as it is written and as it is meant.
func passwordOf(line string) (written, password string) {
	_, rest, ok := strings.Cut(line, "://")
	if !ok {
		return "", ""
	}
	host, _, _ := strings.Cut(rest, "/")
	at := strings.LastIndexByte(host, '@')
	if at < 0 {
		return "", ""
	}
	_, written, _ = strings.Cut(host[:at], ":")
	password, err := url.PathUnescape(written)
	if err != nil {
		password = written
	}
	return written, password
}

// hasRun reports whether minRun bytes or more of A-Z a-z 0-9 + / = follow each other,
// a letter and a digit among them.
func hasRun(s string) bool {
	n, letter, digit := 0, false, false
	for _, c := range []byte(s) {
		switch {
		case 'a' <= c|0x20 && c|0x20 <= 'z':
			letter = true
		case '0' <= c && c <= '9':
			digit = true
		case c == '+' || c == '/' || c == '=':
		default:
			n, letter, digit = 0, false, false
			continue
		}
		if n++; n >= minRun && letter && digit {
			return true
		}
	}
	return false
}

// isPath reports whether a value is the path of a file: an absolute one of two names
// or more, or one that ends with a file's extension.
func isPath(s string) bool {
	if strings.Contains(s, "://") {
		return false
	}
	slashed := strings.ReplaceAll(s, `\`, "/")
	for _, root := range []string{"/", "~/", "./", "../"} {
		if rest, ok := strings.CutPrefix(slashed, root); ok && strings.Contains(rest, "/") {
			return true
		}
	}
	if len(slashed) > 3 && slashed[1] == ':' && slashed[2] == '/' {
		return true
	}
	dot := strings.LastIndexByte(slashed, '.')
	extension := slashed[dot+1:]
	return dot > 0 && strings.Contains(slashed[:dot], "/") && extension != "" && len(extension) <= 4 &&
		strings.Trim(extension, "abcdefghijklmnopqrstuvwxyz") == ""
}

// isHost reports whether a value is the name of a host in lower case, with a port or
// without.
func isHost(s string) bool {
	host, port, _ := strings.Cut(s, ":")
	dot := strings.LastIndexByte(host, '.')
	if dot <= 0 || strings.Trim(port, "0123456789") != "" {
		return false
	}
	top := host[dot+1:]
	return len(top) >= 2 && strings.Trim(top, "abcdefghijklmnopqrstuvwxyz") == "" &&
		strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-") == ""
}
