package envpolicy

import "strings"

// maxToken is the longest value that is checked for a token. The longest tokens
// are JSON Web Tokens with many claims, and an HTTP header cannot be much
// longer.
const maxToken = 16 << 10

// isToken reports whether the whole of value is a token of a known form. Quotes
// and white space around it do not count: they may be left over from a file.
// The token may have a user name before or after it, as in
// x-access-token:TOKEN, and be the first of several with commas between them.
func isToken(value string) bool {
	if len(value) < 20 || len(value) > maxToken {
		return false
	}
	if !tokenByte(value[0]) || !tokenByte(value[len(value)-1]) {
		value = strings.Trim(value, "\"' \t\r\n")
	}
	if isBareToken(value) || isSlashToken(value) {
		return true
	}
	i := strings.IndexAny(value, ":,/ ")
	if i < 0 || value[i] == '/' || value[i] == ' ' {
		return false
	}
	before, after := value[:i], value[i+1:]
	return isBareToken(before) || value[i] == ':' && (isBareToken(after) || isTelegram(before, after))
}

// isBareToken is isToken for a token with nothing else beside it.
func isBareToken(value string) bool {
	if len(value) < 20 || !all(value, tokenByte) {
		return false
	}
	switch value[0] {
	case 'A':
		switch {
		case strings.HasPrefix(value, "AKIA"), strings.HasPrefix(value, "ASIA"): // AWS
			return len(value) == 20 && all(value, upperByte)
		case isGoogleKey(value):
			return true
		}
	case 'S':
		if strings.HasPrefix(value, "SG.") { // SendGrid
			return len(value) == 69 && value[25] == '.'
		}
	case 'e':
		if isJWT(value) {
			return true
		}
	case 'p':
		if strings.HasPrefix(value, "pat") && len(value) == 82 && value[17] == '.' { // Airtable
			return all(value[18:], isHex)
		}
	case 'a', 's':
		if rest, ok := cutAny(value, "sdk-", "api-"); ok && isUUID(rest) { // LaunchDarkly
			return true
		}
	}
	for _, f := range tokenForms {
		if value[0] != f.prefix[0] {
			continue
		}
		if rest, ok := strings.CutPrefix(value, f.prefix); ok && len(rest) >= f.length && (!f.random || looksRandom(rest)) {
			return true
		}
	}
	switch {
	case len(value) == 40 && value[4:6] == "Q~": // a client secret of Entra ID
		return isDigit(value[3]) && looksRandom(value[6:])
	case len(value) == 84 && value[76:80] == "AZDO": // Azure DevOps
		return looksRandom(value)
	}
	i := strings.Index(value, ".atlasv1.") // HCP Terraform
	return i == 14 && len(value) >= 80
}

// isSlashToken reports whether value is a token with bytes that other tokens do
// not have: those of base64, and a space.
func isSlashToken(value string) bool {
	switch value[0] {
	case '1': // a refresh token of Google
		rest, ok := strings.CutPrefix(value, "1//0")
		return ok && len(rest) >= 60 && all(rest, tokenByte)
	case 'A': // a long-lived key of Bedrock
		rest, ok := strings.CutPrefix(value, "ABSK")
		return ok && len(rest) >= 100 && all(rest, base64Byte)
	case 'b': // a key of Bedrock that is valid for some hours
		rest, ok := strings.CutPrefix(value, "bedrock-api-key-")
		return ok && len(rest) >= 100 && all(rest, base64Byte)
	case 'F': // Fly.io
		rest, ok := cutAny(value, "FlyV1 fm1", "FlyV1 fm2", "FlyV1 fo1")
		return ok && len(rest) >= 40
	case 'f':
		rest, ok := cutAny(value, "fm1a_", "fm1r_", "fm2_")
		first, _, _ := strings.Cut(rest, ",")
		return ok && len(first) >= 100 && all(first, base64Byte)
	}
	return false
}

// isTelegram reports whether id:key is the token of a bot.
func isTelegram(id, key string) bool {
	return 8 <= len(id) && len(id) <= 10 && all(id, isDigit) && len(key) == 35 && all(key, tokenByte)
}

// isForBrowsers reports whether value has a form that web pages have as well.
// There, a JSON Web Token says that a visitor is anonymous, and a key of Google
// is bound to the address of the page.
func isForBrowsers(value string) bool { return isJWT(value) || isGoogleKey(value) }

func isGoogleKey(value string) bool { return len(value) == 39 && strings.HasPrefix(value, "AIza") }

// isJWT reports whether value has the form of a JSON Web Token (RFC 7519), or
// of another signed token (RFC 7515): three parts in base64url. The first part
// is an object, so it begins with {" or the like. An encrypted token (RFC 7516)
// has five parts.
func isJWT(value string) bool {
	if !strings.HasPrefix(value, "eyJ") || strings.IndexByte(value, '=') >= 0 {
		return false
	}
	if dots := strings.Count(value, "."); dots != 2 && dots != 4 {
		return false
	}
	header, rest, _ := strings.Cut(value, ".")
	payload := rest[:strings.LastIndexByte(rest, '.')]
	signature := rest[len(payload)+1:]
	return len(header) >= 16 && len(payload) >= 2 && len(signature) >= 16
}

func isUUID(s string) bool {
	return len(s) == 36 && s[8] == '-' && s[13] == '-' && s[18] == '-' && s[23] == '-' &&
		all(s, func(c byte) bool { return isHex(c) || c == '-' })
}

// looksRandom reports whether s has 12 letters and digits in a row, with some
// of each. Words that people write have hyphens between them, and no digits in
// them: sk-learn-2024-experiments, npm_config_registry.
func looksRandom(s string) bool {
	run, letters, digits := 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c):
			digits++
		case isLetter(c):
			letters++
		default:
			run, letters, digits = 0, 0, 0
			continue
		}
		if run++; run >= 12 && letters > 0 && digits > 0 {
			return true
		}
	}
	return false
}

func all(s string, f func(byte) bool) bool {
	for i := range len(s) {
		if !f(s[i]) {
			return false
		}
	}
	return true
}

// cutAny returns s without the first of the prefixes that it has.
func cutAny(s string, prefixes ...string) (rest string, ok bool) {
	for _, p := range prefixes {
		if rest, ok = strings.CutPrefix(s, p); ok {
			return rest, true
		}
	}
	return s, false
}

// tokenByte reports whether c can be part of a token by RFC 6750. It excludes
// the slash: most forms of tokens have no slash, and most other values have
// one.
func tokenByte(c byte) bool {
	switch c {
	case '-', '.', '_', '~', '+', '=':
		return true
	}
	return isLetter(c) || isDigit(c)
}

func base64Byte(c byte) bool { return c == '/' || tokenByte(c) }

func upperByte(c byte) bool { return isUpper(c) || isDigit(c) }
