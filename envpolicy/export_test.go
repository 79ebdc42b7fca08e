package envpolicy

// ApplyOn is Apply on another platform.
func (p Policy) ApplyOn(goos string, base []string) (env, withheld []string) {
	return p.apply(goos, base)
}

// CoreNamesOn is CoreNames on another platform.
var CoreNamesOn = coreNames
