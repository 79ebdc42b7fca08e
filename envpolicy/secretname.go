package envpolicy

import (
	"slices"
	"strings"
	"sync"
	"unicode/utf8"
)

// SecretNames returns the patterns of the names that are withheld by default,
// sorted. Each word of a list gives four patterns, such as TOKEN, TOKEN_*,
// *_TOKEN and *_TOKEN_*. If a word means a secret only at the end, such as PAT,
// it gives only the first and the third. So OPENAI_API_KEY, GITHUB_TOKEN and
// GH_PAT go, and MAX_TOKENS, TOKENIZERS_PARALLELISM and KEYBOARD_LAYOUT stay:
// whole words count, and parts of words do not.
//
// Before a name is compared with these patterns, - and . in it become _,
// several _ in a row become one, and a number at its end goes:
// spring.datasource.password, Jwt__Key, API_KEY2 and GH_PAT_2 are withheld. If
// the case changes within a name, the name is compared a second time, with its
// words separated: openaiApiKey is also OPENAI_API_KEY, and openAIKey is also
// OPEN_AI_KEY.
//
// Some names stay although a pattern matches:
//
//   - names that tell the place of a secret, and not the secret: they end in _FILE,
//     _FILENAME, _FILEPATH, _PATH, _DIR, _DIRECTORY, _FOLDER, _LOCATION, _FD,
//     _SOCK, _SOCKET, _URL, _URI, _ENDPOINT, _HOST, _PORT, _ARN, _NAME,
//     _USERNAME, _REGION, _ADDRESS, _COMMAND, _CMD, _HELPER, _PROVIDER,
//     _PROVIDERS, _BACKEND, _MANAGER, _NAMESPACE, _SOURCE, _STORE or _ENV_VAR,
//     or are GOOGLE_APPLICATION_CREDENTIALS,
//     CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE or NSS_WRAPPER_PASSWD;
//   - names that describe a secret: they end in _COUNT, _LEN, _LENGTH, _LIMIT,
//     _MAX, _MIN, _SIZE, _BUDGET, _AGE, _EXPIRATION, _EXPIRES, _EXPIRES_IN,
//     _EXPIRY, _LIFETIME, _TIMEOUT, _TTL, _MS, _SECONDS, _MINUTES, _HOURS,
//     _DAYS, _ALGORITHM, _AUDIENCE, _DISABLED, _ENABLED, _FORMAT, _ISSUER,
//     _ISSUER_ID, _METHOD, _MODE, _PATTERN, _POLICY, _PREFIX, _REGEX,
//     _REQUIRED, _SCOPE, _SCOPES, _SYMBOL, _TYPE or _VERSION, or say whether to
//     ask for a secret (_ASK_PASS, _ASK_VAULT_PASS);
//   - names whose value is the name of a header or of a cookie: they end in
//     COOKIE_HEADER, KEY_HEADER, SECRET_HEADER, TOKEN_HEADER, CSRF_COOKIE or
//     XSRF_COOKIE;
//   - names of public IDs: they end in API_KEY_ID, ENCRYPTION_KEY_ID,
//     KEY_KEY_ID, MASTER_KEY_ID, PRIVATE_KEY_ID, SIGNING_KEY_ID or TOKEN_ID;
//     but AWS_ACCESS_KEY_ID goes, with the key that it belongs to;
//   - names whose values go to every browser: NEXT_PUBLIC_*, NUXT_PUBLIC_*,
//     EXPO_PUBLIC_*, BUN_PUBLIC_*, NX_PUBLIC_*, PLASMO_PUBLIC_*, PUBLIC_*,
//     REACT_APP_*, VUE_APP_*, NG_APP_*, VITE_*, GATSBY_*, STORYBOOK_*,
//     *PUBLISHABLE_KEY, *ANON_KEY and *PUSHER_APP_KEY;
//   - *_PROXY; PASSWORD_STORE_*, the settings of pass; the directories OLD_PWD,
//     ORIG_PWD, ORIGINAL_PWD, INIT_PWD, HOST_PWD and SAVED_PWD; the cookies
//     with which Jenkins finds its processes (JENKINS_NODE_COOKIE,
//     JENKINS_SERVER_COOKIE, HUDSON_COOKIE, HUDSON_SERVER_COOKIE) and
//     XDG_SESSION_COOKIE; *BOS_TOKEN, *EOS_TOKEN, *PAD_TOKEN and *STOP_TOKEN,
//     the special tokens of models; *TOKEN_BUCKET_*,
//     APPLICATIONINSIGHTS_CONNECTION_STRING, AZURE_TOKEN_CREDENTIALS,
//     GCM_CREDENTIAL_CACHE_OPTIONS and STARSHIP_SESSION_KEY.
//
// Under any name, a variable stays if its value shows that it is no secret:
//
//   - it is empty, or a yes or a no: true, false, yes, no, on, off;
//   - it is a key that its service gives out for web pages: pk_live_…,
//     pk_test_…, sb_publishable_…, or Mapbox' pk.…;
//   - it is an absolute path, and the only secret words in the name are
//     CREDENTIAL, CREDENTIALS, CREDS, PRIVATE_KEY, PRIVATEKEY, DEPLOY_KEY or
//     *_PWD; MYSQL_PWD, DB_PWD and a few more are patterns of their own, and
//     go;
//   - it is 0x and 40 hexadecimal digits, the address of a contract, and the
//     only secret word in the name is TOKEN.
//
// If a name stays, its value is still checked, so DATABASE_PASSWORD_URL goes if
// it contains a password. In a variable that goes to every browser, a JSON Web
// Token and a key of Google stay, because browsers get such values. Any other
// secret there is a mistake, and goes.
//
// The caller may change the slice. That does not change [Policy.Apply].
func SecretNames() []string {
	patterns := make([]string, 0, 4*len(secretWords))
	for word, where := range secretWords {
		patterns = append(patterns, "*_"+word)
		if where != directory {
			patterns = append(patterns, word)
		}
		if where&(anywhere|contract|located) != 0 {
			patterns = append(patterns, word+"_*", "*_"+word+"_*")
		}
	}
	slices.Sort(patterns)
	return patterns
}

// allSecretNames returns SecretNames, in one slice that nobody may change.
var allSecretNames = sync.OnceValue(SecretNames)

// secretName reports whether name is withheld by default, with any value. It
// applies SecretNames and harmlessNames together.
func secretName(name string) bool { return secretPlaces(name) != 0 }

// IsSecret reports whether a variable looks like a secret by its name or its value, so
// that the zero [Policy] withholds it.
func IsSecret(name, value string) bool { return secret(name, value) }

// secret reports whether a variable is withheld by default.
func secret(name, value string) bool {
	places := secretPlaces(name)
	return places != 0 && !disproves(value, places) || secretValue(name, value)
}

// disproves reports whether a value shows that it is no secret, although the
// name has words of the given kinds.
func disproves(value string, places place) bool {
	switch {
	case len(value) <= len("false") && slices.Contains(answers, strings.ToLower(value)):
		return true
	case isPublishable(value):
		return true
	case places == contract:
		return isAddress(value)
	case places&^(located|directory) == 0:
		return isAbsolute(value)
	}
	return false
}

// secretPlaces returns the kinds of the words in name that mean a secret, or 0.
func secretPlaces(name string) place {
	var plainBuf, splitBuf [64]byte
	plain, cased, ascii := fold(plainBuf[:0], name, false)
	places := placesIn(plain, ascii)
	var split []byte
	if cased {
		split, _, _ = fold(splitBuf[:0], name, true)
		places |= placesIn(split, ascii)
	}
	if places == 0 || harmless(plain, ascii) || cased && harmless(split, ascii) {
		return 0
	}
	return places
}

// harmless reports whether a folded name stays although it has a secret word.
func harmless(folded []byte, ascii bool) bool {
	name := string(folded)
	if !ascii {
		for word := range harmlessEnds {
			if match("*_"+word, name) {
				return true
			}
		}
		return matchAny(harmlessNames, name)
	}
	if i := strings.LastIndexByte(name, '_'); i >= 0 && harmlessEnds[name[i+1:]] != 0 {
		return true
	}
	for _, pattern := range harmlessNames {
		if matchFolded(pattern, name) {
			return true
		}
	}
	return false
}

// matchFolded is match for an ASCII name in upper case, and a pattern that is
// such a name with a * at its beginning or end.
func matchFolded(pattern, name string) bool {
	rest, front := strings.CutPrefix(pattern, "*")
	rest, behind := strings.CutSuffix(rest, "*")
	switch {
	case front && behind:
		return strings.Contains(name, rest)
	case front:
		return strings.HasSuffix(name, rest)
	case behind:
		return strings.HasPrefix(name, rest)
	}
	return name == rest
}

// fold appends name to dst in the form for SecretNames: in upper case, with one
// _ in place of each run of - . and _, and without a number at its end. If
// split is set, an _ also separates words where the case changes: fooBar,
// FOOBar. cased reports whether the case changes anywhere, and ascii whether
// name is ASCII. Other characters stay unchanged.
func fold(dst []byte, name string, split bool) (folded []byte, cased, ascii bool) {
	ascii = true
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= utf8.RuneSelf:
			ascii = false
		case isLower(c):
			c -= 'a' - 'A'
		case c == '-' || c == '.':
			c = '_'
		case isUpper(c) && i > 0 && (isLower(name[i-1]) || isDigit(name[i-1]) ||
			isUpper(name[i-1]) && i+1 < len(name) && isLower(name[i+1])):
			cased = true
			if split {
				dst = append(dst, '_')
			}
		}
		if c == '_' && len(dst) > 0 && dst[len(dst)-1] == '_' {
			continue
		}
		dst = append(dst, c)
	}
	n := len(dst)
	for n > 0 && isDigit(dst[n-1]) {
		n--
	}
	if n < len(dst) && n > 0 && dst[n-1] == '_' {
		n--
	}
	return dst[:n], cased, ascii
}

// placesIn returns the kinds of all secret words in a folded name. It looks up
// each word and each pair of words, instead of matching hundreds of patterns.
func placesIn(folded []byte, ascii bool) (places place) {
	if !ascii {
		// Beyond ASCII, the case is more than one bit: some characters, such as
		// U+212A, the kelvin sign, are an ASCII letter in another case. Such
		// names are rare.
		if matchAny(allSecretNames(), string(folded)) {
			return anywhere
		}
		return 0
	}
	start, previous := 0, -1 // of the word, and of the word before it
	for i := 0; i <= len(folded); i++ {
		if i < len(folded) && folded[i] != '_' {
			continue
		}
		last := i == len(folded)
		places |= placeOf(folded[start:i], start, last)
		if previous >= 0 {
			places |= placeOf(folded[previous:i], previous, last)
		}
		previous, start = start, i+1
	}
	return places
}

// placeOf returns the kind of a word that begins at an index of a name, or 0.
func placeOf(word []byte, start int, last bool) place {
	where := secretWords[string(word)]
	if where == atEnd && !last || where == directory && (!last || start == 0) {
		return 0
	}
	return where
}

// answers are values that answer a question, and the empty value.
var answers = []string{"", "true", "false", "yes", "no", "on", "off"}

// isAbsolute reports whether a value is an absolute path, and not a password
// that begins like one.
func isAbsolute(value string) bool {
	rest, ok := strings.CutPrefix(value, "/")
	if !ok && len(value) >= 3 && isLetter(value[0]) && value[1] == ':' {
		rest, ok = value[3:], value[2] == '\\' || value[2] == '/'
	}
	return ok && !strings.ContainsAny(rest, "!\"#$%&'*+;<=>?[]^`{|}")
}

// isPublishable reports whether a value is a key that a service gives out for
// web pages: Stripe and Clerk, Supabase, Mapbox.
func isPublishable(value string) bool {
	_, ok := cutAny(value, "pk_live_", "pk_test_", "sb_publishable_", "pk.eyJ")
	return ok
}

// isAddress reports whether a value is the address of an account or a contract
// of Ethereum or a similar chain: 20 bytes, which are public.
func isAddress(value string) bool {
	hex, ok := strings.CutPrefix(value, "0x")
	return ok && len(hex) == 40 && all(hex, isHex)
}

func isLower(c byte) bool  { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool  { return 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isLetter(c byte) bool { return isLower(c | 0x20) }
func isHex(c byte) bool    { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
