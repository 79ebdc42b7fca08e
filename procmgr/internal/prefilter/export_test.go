package prefilter

import "regexp/syntax"

// Required is required.
func Required(re *syntax.Regexp) ([]string, bool) { return required(re) }
