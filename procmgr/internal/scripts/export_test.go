package scripts

// Words returns the words of each simple command, and whether all of them are
// known.
func Words(command string) (words [][]string, known bool) {
	known = true
	for _, s := range split(command) {
		var texts []string
		for _, w := range s.words {
			texts = append(texts, w.text)
			known = known && w.known
		}
		words = append(words, texts)
	}
	return words, known
}
