package envpolicy

// Match is the pattern matcher.
var Match = match

// SecretName is the rule by which names are withheld, in its fast form.
var SecretName = secretName

// SecretValue is the rule by which values are withheld.
var SecretValue = secretValue

// ApplyOn is Apply on a platform other than this one.
func (p Policy) ApplyOn(goos string, base []string, request map[string]string) ([]string, Report) {
	return p.apply(goos, base, request)
}

// HarmlessNames returns the patterns of the names that stay although one of
// SecretNames matches.
func HarmlessNames() []string { return append([]string(nil), harmlessNames...) }

// SecretWords returns the words that SecretNames is made of.
func SecretWords() []string {
	var words []string
	for w := range secretWords {
		words = append(words, w)
	}
	return words
}
