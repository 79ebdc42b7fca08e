package envpolicy

import "strings"

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
func HarmlessNames() []string {
	patterns := append([]string(nil), harmlessNames...)
	for word := range harmlessEnds {
		patterns = append(patterns, "*_"+word)
	}
	return patterns
}

// SecretWords returns the words that SecretNames is made of, as they are listed.
func SecretWords() []string {
	var words []string
	for _, list := range secretLists {
		words = append(words, strings.Fields(list)...)
	}
	return words
}

// A TokenForm is how the tokens of one service look.
type TokenForm struct {
	Prefix string
	Length int  // of what follows the prefix, at least
	Random bool // what follows must look random
}

// TokenForms returns all of them.
func TokenForms() []TokenForm {
	var forms []TokenForm
	for _, f := range tokenForms {
		forms = append(forms, TokenForm{f.prefix, f.length, f.random})
	}
	return forms
}
