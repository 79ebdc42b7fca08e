package capture

// literals are the words by which a line tells of trouble, whatever tool has
// printed it. The case of letters does not matter. They are of no tool alone:
// what only one tool prints would be a rule for that tool, and such rules are
// wrong as often as they help.
var literals = []string{
	"error", "fail", "fatal", "panic", "exception", "traceback", "denied",
	"not found", "cannot", "can't", "could not", "couldn't", "unable to", "no such",
	"not ok", "undefined", "invalid", "refused", "timed out", "abort", "assert",
	"segmentation", "killed", "unexpected", "violat", "mismatch", "conflict",
	"corrupt", "overflow", "unresolved", "out of memory", "deadlock",
	"✗", "✘", "✖", "❌",
}

// An automaton finds literals in one pass over a text. Its states are the
// beginnings of literals, and found is the end of any.
type automaton [256][256]uint8

const found = 255

// troubles is the automaton of the literals. It is never changed.
var troubles = newAutomaton(literals)

// newAutomaton makes the automaton of Aho and Corasick. All literals together
// have at most found bytes.
func newAutomaton(literals []string) *automaton {
	a := new(automaton)
	states := uint8(1)
	for _, literal := range literals {
		state := uint8(0)
		for i, c := range []byte(literal) {
			to := &a[state][c]
			switch {
			case i == len(literal)-1:
				*to = found
			case *to == 0:
				*to = states
				states++
			}
			if state = *to; state == found {
				break // a shorter literal is found before this one
			}
		}
	}
	// Breadth first: the state of a shorter suffix is ready before it is used.
	var back [256]uint8
	var queue []uint8
	for _, to := range a[0] {
		if to != 0 && to != found {
			queue = append(queue, to)
		}
	}
	for len(queue) > 0 {
		state := queue[0]
		queue = queue[1:]
		for c := range a[state] {
			to, shorter := &a[state][c], a[back[state]][c]
			switch {
			case *to == found:
			case *to == 0 || shorter == found:
				*to = shorter
			default:
				back[*to] = shorter
				queue = append(queue, *to)
			}
		}
	}
	for state := range a {
		for c := 'a'; c <= 'z'; c++ {
			a[state][c-'a'+'A'] = a[state][c]
		}
	}
	return a
}

// trouble returns the offset behind the first literal in a text, or a negative
// number if there is none.
func trouble(text []byte) int {
	a, state := troubles, uint8(0)
	for i, c := range text {
		state = a[state][c]
		if state == found {
			return i + 1
		}
	}
	return -1
}
