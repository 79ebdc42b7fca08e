package redact

// Forms returns all that is searched for, and whether it may be broken into lines.
func (s *Set) Forms() map[string]bool {
	forms := make(map[string]bool)
	for _, n := range s.needles {
		forms[n.text] = n.lines
	}
	return forms
}
