package envpolicy

import "strings"

// Match is the pattern matcher.
var Match = match

// SecretName is the rule that withholds names, in its fast form.
var SecretName = secretName

// SecretValue is the rule that withholds values.
var SecretValue = secretValue

// ApplyOn is Apply on another platform.
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

// SecretWords returns the words of SecretNames, as they are listed.
func SecretWords() []string {
	var words []string
	for _, list := range secretLists {
		words = append(words, strings.Fields(list)...)
	}
	return words
}

// A TokenForm is the form of one service's tokens.
type TokenForm struct {
	Prefix string
	Length int  // least length after the prefix
	Random bool // the rest must look random
}

// TokenForms returns all token forms.
func TokenForms() []TokenForm {
	var forms []TokenForm
	for _, f := range tokenForms {
		forms = append(forms, TokenForm{f.prefix, f.length, f.random})
	}
	return forms
}
