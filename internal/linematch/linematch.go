// Package linematch finds the lines that two texts have in common, in order, for
// packages that say what differs.
package linematch

// mostSteps is how much Pairs compares, less than a second's work.
const mostSteps = 1 << 28

// Pairs returns the indexes of lines that a and b have in common, in order. It is a
// longest sequence of them, or a shorter one if that takes far less time.
func Pairs[T comparable](a, b []T) [][2]int32 {
	ids := make(map[T]int32)
	for i, line := range b {
		ids[line] = int32(i) // the last one of its kind stands for all
	}
	inA := make(map[int32]bool)
	var idsA, atA, idsB, atB []int32
	for i, line := range a {
		if id, both := ids[line]; both {
			idsA, atA = append(idsA, id), append(atA, int32(i))
			inA[id] = true
		}
	}
	for i, line := range b {
		if id := ids[line]; inA[id] { // a line that only one has belongs to none of the other
			idsB, atB = append(idsB, id), append(atB, int32(i))
		}
	}
	m := Matcher{Most: mostSteps}
	m.Match(idsA, idsB, atA, atB)
	return m.Pairs
}
