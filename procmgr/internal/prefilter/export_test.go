package prefilter

import "regexp/syntax"

// NewWith is New on a processor that looks at so many places at once. It needs
// no more than this processor can.
func NewWith(re *syntax.Regexp, places int) *Filter {
	strings, folds := required(re)
	return newFilter(strings, folds, min(places, vectors))
}

// Required is required.
func Required(re *syntax.Regexp) ([]string, bool) { return required(re) }
