package prefilter

import "regexp/syntax"

// NewPortable is New on a processor for which there is no faster way.
func NewPortable(re *syntax.Regexp) *Filter {
	strings, folds := required(re)
	return newFilter(strings, folds, false)
}

// Required is required.
func Required(re *syntax.Regexp) ([]string, bool) { return required(re) }
