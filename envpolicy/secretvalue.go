package envpolicy

import (
	"encoding/base64"
	"strings"
)

// secretValue reports whether the value of a variable is plainly a secret. The
// name matters in three cases. Commands need a proxy to reach the network, and a
// password in its URL is only for the proxy. A variable that goes to every
// browser may have a token that browsers get. And some values are keys only if
// the name says so.
func secretValue(name, value string) bool {
	if len(value) < len("u:p@/d") { // the shortest secret
		return false
	}
	return isToken(value) && !(isForBrowsers(value) && matchAny(publicNames, name)) ||
		isHexKey(value) && isKeyName(name) ||
		hasPrivateKey(value) ||
		hasPassword(value) && !isProxy(name) ||
		hasAuthorization(value) ||
		isHeader(value) ||
		isWebhook(value)
}

func isProxy(name string) bool {
	return match("*_PROXY", name) || match("PROXY", name)
}

// isHexKey reports whether value is 32 bytes in hexadecimal digits after 0x, or
// a list of such values with commas: the private key of an account of Ethereum
// or a similar chain. Hashes of blocks and of transactions look the same, and
// so do the addresses of other chains.
func isHexKey(value string) bool {
	const size = len("0x") + 64
	if len(value) < size || value[:2] != "0x" || len(value) > size && value[size] != ',' {
		return false
	}
	return all(value[2:size], isHex)
}

// isKeyName reports whether a name says that its value is a key, and not a
// public key or a hash of a key: WALLET_KEY, OWNER_PK, but not KEY_HASH.
func isKeyName(name string) bool {
	var buf [64]byte
	folded, _, _ := fold(buf[:0], name, true)
	words := strings.Split(string(folded), "_")
	switch last := len(words) - 1; words[last] {
	case "PK", "SK", "PRIV", "PRIVATE", "SEED":
		return true
	case "KEY", "KEYS":
		return last == 0 || words[last-1] != "PUBLIC" && words[last-1] != "PUB" && words[last-1] != "CACHE"
	}
	return false
}

// hasPrivateKey reports whether value contains a private key: in PEM (RFC
// 7468), in the format of OpenSSH, or in OpenPGP armor (RFC 9580). The key may
// be inside JSON, as for a service account. Or value may be base64 as a whole,
// because CI systems want values of one line.
func hasPrivateKey(value string) bool {
	const begin, end = "-----BEGIN ", "-----"
	if strings.HasPrefix(value, "LS0tLS1CRUdJTi") { // begin in base64
		head := make([]byte, 48) // the longest label is that of OpenPGP
		n, _ := base64.StdEncoding.Decode(head, []byte(value[:min(len(value)&^3, 64)]))
		value = string(head[:n])
	}
	for {
		_, after, ok := strings.Cut(value, begin)
		if !ok {
			return strings.HasPrefix(value, "PuTTY-User-Key-File-")
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

// hasAuthorization reports whether value contains an Authorization header, or
// the same as a field of JSON or of a configuration. In the middle of other
// text, the header counts only with one of the common schemes.
func hasAuthorization(value string) bool {
	const name = "authorization"
	for end := 0; ; {
		// Nearly no value has this name, so usually only these two searches
		// run.
		i := strings.Index(value[end:], name[1:])
		if j := strings.Index(value[end:], "UTHORIZATION"); i < 0 || 0 <= j && j < i {
			i = j
		}
		if i < 0 {
			return false
		}
		begin := end + i - 1
		end += i + len(name) - 1
		if begin >= 0 && value[begin]|0x20 == 'a' && isCredential(value[end:], begin == 0) {
			return true
		}
	}
}

// isCredential reports whether the text after the name of a header is a
// credential.
func isCredential(rest string, whole bool) bool {
	rest = strings.TrimLeft(rest, "\"'\\ ")
	if rest == "" || rest[0] != ':' && rest[0] != '=' {
		return false
	}
	rest = strings.TrimLeft(rest[1:], "\"'\\ ")
	scheme, credential, ok := strings.Cut(rest, " ")
	if !ok {
		return whole && rest != "" && !isReference(rest[0])
	}
	if !whole {
		switch strings.ToLower(scheme) {
		case "basic", "bearer", "digest", "token":
		default:
			return false
		}
	}
	return credential != "" && !isReference(credential[0])
}

// isHeader reports whether value is an HTTP header that contains a secret, or
// the value of an Authorization header.
func isHeader(value string) bool {
	for _, scheme := range []string{"bearer ", "basic "} {
		if rest, ok := cutPrefixFold(value, scheme); ok {
			// Neither "basic configuration" nor "bearer of 10 bad news" is a
			// secret.
			return len(rest) >= 12 && strings.IndexByte(rest, ' ') < 0 && strings.ContainsAny(rest, "0123456789=")
		}
	}
	i := strings.IndexByte(value, ':')
	if i < 0 || i > 40 {
		return false
	}
	name, rest := value[:i], strings.TrimLeft(value[i+1:], " ")
	if rest == "" || isReference(rest[0]) || !all(name, func(c byte) bool { return isLetter(c) || isDigit(c) || c == '-' }) {
		return false
	}
	if strings.EqualFold(name, "cookie") || strings.EqualFold(name, "set-cookie") {
		return strings.IndexByte(rest, '=') > 0
	}
	return strings.IndexByte(name, '-') > 0 && strings.IndexByte(rest, ' ') < 0 && secretName(name)
}

func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// webhooks are the beginnings of URLs that let anybody who knows them post.
var webhooks = []string{
	"https://canary.discord.com/api/webhooks/",
	"https://discord.com/api/webhooks/",
	"https://discordapp.com/api/webhooks/",
	"https://ptb.discord.com/api/webhooks/",
	"https://hooks.slack.com/services/",
	"https://hooks.slack.com/triggers/",
	"https://hooks.slack.com/workflows/",
	"https://hooks.zapier.com/hooks/catch/",
	"https://api.telegram.org/bot",
}

// isWebhook reports whether value is a URL that lets anybody who knows it post.
func isWebhook(value string) bool {
	if !strings.HasPrefix(value, "https://") {
		return false
	}
	for _, prefix := range webhooks {
		if len(value) > len(prefix) && strings.HasPrefix(value, prefix) {
			return true
		}
	}
	// Teams has a host for each organisation.
	host, path, _ := strings.Cut(value[len("https://"):], "/")
	return strings.HasSuffix(host, ".webhook.office.com") && strings.HasPrefix(path, "webhookb2/")
}
