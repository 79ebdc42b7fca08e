package toolset

// Fold returns a text as a model reads it; cut says that it misses its middle.
func Fold(text string, cut bool) string { return fold(text, cut) }

// Encode returns the JSON of a result with an output.
func Encode(output string) string { return encode(report{Output: &output}) }
