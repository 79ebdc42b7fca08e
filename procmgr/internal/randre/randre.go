// Package randre makes random regular expressions for tests, and texts for them.
// Both are of few different characters, so that they match often.
package randre

import "math/rand/v2"

// Pattern returns an expression of at most so many nested operators.
func Pattern(r *rand.Rand, depth int) string {
	sub := func() string { return Pattern(r, depth-1) }
	if depth == 0 {
		return pick(r, "a", "b", "ab", "abc", "K", "s", "ks", "E", "é", "€", "€uro", "[ab]", "[a-c]", "[^a]", `\d`, `\w`, `\W`, ".", "(?s:.)",
			"^", "$", "(?m:^)", "(?m:$)", `\A`, `\z`, `\b`, `\B`, "(?i:sk)", "(?i:é)", `\x{fffd}`, " ")
	}
	switch r.IntN(12) {
	case 0:
		return "(?:" + sub() + "|" + sub() + ")"
	case 1:
		return "(" + sub() + ")?"
	case 2:
		return "(?:" + sub() + ")+"
	case 3:
		return "(?:" + sub() + ")*"
	case 4:
		return "(?:" + sub() + "){1,3}"
	case 5:
		return "(?i:" + sub() + ")"
	default:
		return sub() + sub()
	}
}

// Text returns a text of fewer than n pieces, some of them invalid UTF-8.
func Text(r *rand.Rand, n int) (text []byte) {
	for range r.IntN(n) {
		text = append(text, pick(r, "a", "b", "c", "ab", "abc", "k", "K", "s", "S", "\u017f", "\u212a", "e", "E", "é", "É", "€", "uro", "1", "_", " ",
			"x", "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", "\xff", "\xe2\x82", "\ufffd", "\n", "\n")...)
	}
	return text
}

func pick(r *rand.Rand, of ...string) string { return of[r.IntN(len(of))] }
