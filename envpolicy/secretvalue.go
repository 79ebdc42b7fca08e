package envpolicy

import "strings"

// secretValue reports whether the value of a variable is plainly a secret. The
// name matters only for proxies: commands need those to reach the network, and
// the password in one is for that alone.
func secretValue(name, value string) bool {
	if len(value) < len("s://u:p@") { // the shortest of them all
		return false
	}
	return isToken(value) ||
		hasPrivateKey(value) ||
		hasPassword(value) && !isProxy(name) ||
		isHeader(value) ||
		isWebhook(value)
}

func isProxy(name string) bool {
	return match("*_PROXY", name) || match("PROXY", name)
}

// hasPrivateKey reports whether there is a private key in value, in PEM (RFC
// 7468), as OpenSSH writes it, or in OpenPGP armor (RFC 9580). It may be inside
// JSON, as a service account's is.
func hasPrivateKey(value string) bool {
	const begin, end = "-----BEGIN ", "-----"
	for {
		_, after, ok := strings.Cut(value, begin)
		if !ok {
			return false
		}
		label, rest, ok := strings.Cut(after, end)
		if !ok {
			return false
		}
		if strings.HasSuffix(label, "PRIVATE KEY") || label == "PGP PRIVATE KEY BLOCK" {
			return true
		}
		value = rest
	}
}

// hasPassword reports whether there is a URL with a password in value, or a
// password field as connection strings have it. There may be several URLs, as
// in GOPROXY or PIP_EXTRA_INDEX_URL, and one inside another scheme, as JDBC's.
func hasPassword(value string) bool {
	for rest := value; ; {
		_, after, ok := strings.Cut(rest, "://")
		if !ok {
			break
		}
		authority := after
		if i := strings.IndexAny(after, "/?# \t\r\n\"'<>\\"); i >= 0 {
			authority = after[:i]
		}
		// The last @: people forget to escape the one in their password.
		if i := strings.LastIndexByte(authority, '@'); i >= 0 {
			user, password, _ := strings.Cut(authority[:i], ":")
			if password != "" || isToken(user) {
				return true
			}
		}
		rest = after
	}
	return hasPasswordField(value)
}

// passwordFields are what a password is called in the connection strings of
// databases (libpq, ODBC, ADO.NET, JDBC) and of Azure, and in the query of a URL.
var passwordFields = []string{
	"password", "passwd", "pwd", "accountkey", "sharedaccesskey", "sig", "access_token", "api_key", "apikey",
}

// hasPasswordField reports whether value consists of several fields key=value
// with a password among them. Fields are parted by semicolons, spaces or
// ampersands, and those after a URL begin with its question mark. A password
// that begins like a quotation or a reference is one of a script, which has it
// from elsewhere.
func hasPasswordField(value string) bool {
	if !strings.ContainsAny(value, "; &?") {
		return false
	}
	for end := 0; ; end++ {
		i := strings.IndexByte(value[end:], '=')
		if i < 0 || end+i+1 == len(value) {
			return false
		}
		end += i
		for _, key := range passwordFields {
			begin := end - len(key)
			if begin < 0 || begin > 0 && !partsFields(value[begin-1]) || !strings.EqualFold(value[begin:end], key) {
				continue
			}
			if next := value[end+1]; !partsFields(next) && strings.IndexByte("$\"'`{<*", next) < 0 {
				return true
			}
		}
	}
}

func partsFields(c byte) bool { return c == ';' || c == ' ' || c == '&' || c == '?' }

// isHeader reports whether value is what an HTTP client sends to say who it is.
func isHeader(value string) bool {
	if rest, ok := cutPrefixFold(value, "authorization:"); ok {
		return strings.TrimSpace(rest) != ""
	}
	for _, scheme := range []string{"bearer ", "basic "} {
		if rest, ok := cutPrefixFold(value, scheme); ok {
			// Neither "basic configuration" nor "bearer of 10 bad news".
			return len(rest) >= 12 && strings.IndexByte(rest, ' ') < 0 && strings.ContainsAny(rest, "0123456789=")
		}
	}
	return false
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// isWebhook reports whether value is a URL that lets anyone post who knows it.
func isWebhook(value string) bool {
	for _, prefix := range []string{
		"https://hooks.slack.com/services/",
		"https://hooks.slack.com/workflows/",
		"https://discord.com/api/webhooks/",
		"https://discordapp.com/api/webhooks/",
	} {
		if len(value) > len(prefix) && strings.HasPrefix(value, prefix) {
			return true
		}
	}
	return false
}
