package envpolicy

import (
	"unicode"
	"unicode/utf8"
)

// matchAny reports whether one of the patterns matches the whole of name.
func matchAny(patterns []string, name string) bool {
	for _, p := range patterns {
		if match(p, name) {
			return true
		}
	}
	return false
}

// match reports whether pattern matches the whole of name: * matches any number
// of characters, ? matches one, and any other character matches itself in
// either case.
//
// On a mismatch, match only lets the latest * take one more character. It need
// not try an earlier * again: the latest * can take any character that the
// earlier one could give up. So a pattern costs at most the product of both
// lengths, however many * it has, and patterns may come from an attacker.
func match(pattern, name string) bool {
	if lastDiffers(pattern, name) {
		return false
	}
	p, n := 0, 0
	star, resume := -1, 0 // after the latest *, and the place in name where it was last tried
	for n < len(name) {
		if p < len(pattern) {
			if pattern[p] == '*' {
				p++
				if p == len(pattern) {
					return true
				}
				star, resume = p, n
				continue
			}
			pr, pw := decode(pattern[p:])
			nr, nw := decode(name[n:])
			if pr == '?' || equalFold(pr, nr) {
				p, n = p+pw, n+nw
				continue
			}
		}
		if star < 0 {
			return false
		}
		_, w := decode(name[resume:])
		resume += w
		p, n = star, resume
	}
	for p < len(pattern) && pattern[p] == '*' {
		p++
	}
	return p == len(pattern)
}

// lastDiffers reports whether the last characters alone show that pattern does
// not match. Most patterns begin with * and match few names, so for most names
// this is the only work.
func lastDiffers(pattern, name string) bool {
	if pattern == "" || name == "" {
		return false
	}
	p, n := pattern[len(pattern)-1], name[len(name)-1]
	return p != '*' && p != '?' && p < utf8.RuneSelf && n < utf8.RuneSelf && !equalFoldASCII(p, n)
}

// decode is utf8.DecodeRuneInString for a string that is not empty, with a fast
// path for ASCII. Names are nearly always ASCII.
func decode(s string) (rune, int) {
	if s[0] < utf8.RuneSelf {
		return rune(s[0]), 1
	}
	return utf8.DecodeRuneInString(s)
}

// equalFold reports whether two characters are the same without regard to case,
// as [strings.EqualFold] compares them.
func equalFold(a, b rune) bool {
	if a < utf8.RuneSelf && b < utf8.RuneSelf {
		return equalFoldASCII(byte(a), byte(b))
	}
	if a == b {
		return true
	}
	for r := unicode.SimpleFold(a); r != a; r = unicode.SimpleFold(r) {
		if r == b {
			return true
		}
	}
	return false
}

func equalFoldASCII(a, b byte) bool {
	return a == b || a|0x20 == b|0x20 && 'a' <= a|0x20 && a|0x20 <= 'z'
}
