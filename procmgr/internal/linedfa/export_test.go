package linedfa

// Limit makes room for so many states, and lets the automaton go on however few
// bytes it reads for each.
func (a *Automaton) Limit(states int) {
	if a.build() {
		a.most, a.patient = states, true
	}
}
