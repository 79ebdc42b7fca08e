package envpolicy

import (
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// A place is where in a name a word makes it a secret's.
type place uint8

const (
	anywhere place = iota + 1
	atEnd          // since elsewhere it has other meanings: JWT_ISSUER, PASS_COUNT
)

// secretWords has the words, and pairs of words, that make a name a secret's.
// Most kinds of key are no secret (PUBLIC_KEY, GPG_KEY, CACHE_KEY), and PWD is a
// directory for many, so KEY and PWD are here only with the word before them.
// TOKENS is what models are billed by.
var secretWords = map[string]place{
	"APIKEY":        anywhere,
	"APIKEYS":       anywhere,
	"APISECRET":     anywhere,
	"APITOKEN":      anywhere,
	"ACCESSKEY":     anywhere,
	"ACCESSTOKEN":   anywhere,
	"AUTHKEY":       anywhere,
	"AUTHTOKEN":     anywhere,
	"CLIENTSECRET":  anywhere,
	"CREDENTIAL":    anywhere,
	"CREDENTIALS":   anywhere,
	"CREDS":         anywhere,
	"MNEMONIC":      anywhere,
	"PASSPHRASE":    anywhere,
	"PASSPHRASES":   anywhere,
	"PASSWD":        anywhere,
	"PASSWORD":      anywhere,
	"PASSWORDS":     anywhere,
	"PRIVATEKEY":    anywhere,
	"SECRET":        anywhere,
	"SECRETKEY":     anywhere,
	"SECRETS":       anywhere,
	"TOKEN":         anywhere,
	"DBPASSWORD":    anywhere,
	"MONGOPASSWORD": anywhere, // these four are what libpq and hosting platforms call them
	"MYSQLPASSWORD": anywhere,
	"PGPASSWORD":    anywhere,
	"REDISPASSWORD": anywhere,

	"AUTHORIZATION": atEnd,
	"COOKIE":        atEnd,
	"DBPASS":        atEnd,
	"JWT":           atEnd,
	"KEYPASS":       atEnd,
	"PASS":          atEnd,
	"PAT":           atEnd, // a personal access token
	"PSK":           atEnd,
	"SSHPASS":       atEnd,

	"ACCESS_KEY":      anywhere,
	"ACCESS_KEYS":     anywhere,
	"ACCOUNT_KEY":     anywhere,
	"ADMIN_KEY":       anywhere,
	"ANTHROPIC_KEY":   anywhere,
	"API_KEY":         anywhere,
	"API_KEYS":        anywhere,
	"APPLICATION_KEY": anywhere,
	"APP_KEY":         anywhere,
	"AUTH_KEY":        anywhere,
	"AWS_KEY":         anywhere,
	"AZURE_KEY":       anywhere,
	"COOKIE_KEY":      anywhere,
	"DECRYPTION_KEY":  anywhere,
	"DEPLOY_KEY":      anywhere,
	"ENCRYPTION_KEY":  anywhere,
	"ENCRYPTION_KEYS": anywhere,
	"FERNET_KEY":      anywhere,
	"GEMINI_KEY":      anywhere,
	"HMAC_KEY":        anywhere,
	"JWT_KEY":         anywhere,
	"KAGGLE_KEY":      anywhere,
	"LICENSE_KEY":     anywhere,
	"MASTER_KEY":      anywhere,
	"OPENAI_KEY":      anywhere,
	"PRIVATE_KEY":     anywhere,
	"PRIVATE_KEYS":    anywhere,
	"ROLE_KEY":        anywhere, // SUPABASE_SERVICE_ROLE_KEY
	"ROOT_KEY":        anywhere,
	"SERVICE_KEY":     anywhere,
	"SESSION_KEY":     anywhere,
	"SIGNING_KEY":     anywhere,
	"SIGNING_KEYS":    anywhere,
	"STORAGE_KEY":     anywhere,
	"STRIPE_KEY":      anywhere,
	"WEBHOOK_KEY":     anywhere,

	"ADMIN_PWD": atEnd,
	"DB_PWD":    atEnd,
	"FTP_PWD":   atEnd,
	"LDAP_PWD":  atEnd,
	"MAIL_PWD":  atEnd,
	"MYSQL_PWD": atEnd,
	"REDIS_PWD": atEnd,
	"SMTP_PWD":  atEnd,
	"USER_PWD":  atEnd,

	"BASIC_AUTH":    atEnd,
	"COMPOSER_AUTH": atEnd,
	"DOCKER_AUTH":   anywhere, // DOCKER_AUTH_CONFIG
	"NPM_AUTH":      atEnd,
	"REGISTRY_AUTH": atEnd,
	"_AUTH":         atEnd, // npm_config__auth: an empty word and AUTH

	"CUSTOM_HEADERS":  atEnd, // headers are where a key is sent: OTEL_EXPORTER_OTLP_HEADERS
	"LOGS_HEADERS":    atEnd,
	"METRICS_HEADERS": atEnd,
	"OTLP_HEADERS":    atEnd,
	"TRACES_HEADERS":  atEnd,

	"CONNECTION_STRING": atEnd,
	"RECOVERY_PHRASE":   atEnd,
	"SEED_PHRASE":       atEnd,
}

// harmlessNames has patterns of names that stay in spite of a word in them: they
// say where a secret is, how to get it, or what it is like.
var harmlessNames = []string{
	"*_FILE", "*_PATH", "*_DIR", "*_FD", "*_SOCK",
	"*_URI", "*_URL", "*_ENDPOINT", "*_ARN", "*_NAME",
	"*_COMMAND", "*_CMD", "*_HELPER", "*_PROVIDER",
	"*_COUNT", "*_LENGTH", "*_LIMIT", "*_MAX", "*_MIN", "*_SIZE", "*_BUDGET",
	"*_EXPIRATION", "*_EXPIRY", "*_LIFETIME", "*_TIMEOUT", "*_TTL",
	"*_ALGORITHM", "*_ENABLED", "*_POLICY", "*_REQUIRED", "*_TYPE", "*_VERSION",
	"*_PROXY",

	// What is public about a pair of which the other half is the secret. Not so
	// ACCESS_KEY_ID: AWS's is useless alone, but scanners of logs and of commits
	// raise an alarm over it, and nothing works with half of the pair.
	"*API_KEY_ID", "*ENCRYPTION_KEY_ID", "*MASTER_KEY_ID", "*PRIVATE_KEY_ID", "*SIGNING_KEY_ID",
	"*TOKEN_ID",

	"CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE", // paths, as *_FILE is
	"GOOGLE_APPLICATION_CREDENTIALS",
	"PASSWORD_STORE_*", // settings of pass; PASSWORD_STORE_KEY is the ID of a public key
}

// SecretNames returns the patterns of the names that are withheld by default,
// sorted. For each of a list of words there are four of them, such as TOKEN,
// TOKEN_*, *_TOKEN and *_TOKEN_*, or only the first and the third where a word
// means a secret at the end alone, such as PAT. So OPENAI_API_KEY, GITHUB_TOKEN
// and GH_PAT go, and MAX_TOKENS, TOKENIZERS_PARALLELISM and KEYBOARD_LAYOUT
// stay: words count, parts of them do not. When a name is compared with these
// patterns, - and . in it count as _, so that spring.datasource.password goes.
//
// Some names stay although a pattern matches:
//
//   - those that end in _FILE, _PATH, _DIR, _FD or _SOCK, and the variables
//     GOOGLE_APPLICATION_CREDENTIALS and CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE,
//     since they say where a secret is and not what it is; likewise _URL, _URI,
//     _ENDPOINT, _ARN, _NAME, _COMMAND, _CMD, _HELPER and _PROVIDER;
//   - those that end in what a secret is like: _COUNT, _LENGTH, _LIMIT, _MAX,
//     _MIN, _SIZE, _BUDGET, _EXPIRATION, _EXPIRY, _LIFETIME, _TIMEOUT, _TTL,
//     _ALGORITHM, _ENABLED, _POLICY, _REQUIRED, _TYPE and _VERSION;
//   - those that end in API_KEY_ID, ENCRYPTION_KEY_ID, MASTER_KEY_ID,
//     PRIVATE_KEY_ID, SIGNING_KEY_ID or TOKEN_ID, which are public; but
//     AWS_ACCESS_KEY_ID goes, with the key that it belongs to;
//   - PASSWORD_STORE_*, the settings of pass, and *_PROXY.
//
// Their values are looked at like any other, so DATABASE_PASSWORD_URL goes if
// there is a password in it.
//
// The slice is the caller's to change; that changes nothing for [Policy.Apply].
func SecretNames() []string {
	patterns := make([]string, 0, 4*len(secretWords))
	for _, word := range slices.Sorted(maps.Keys(secretWords)) {
		patterns = append(patterns, word, "*_"+word)
		if secretWords[word] == anywhere {
			patterns = append(patterns, word+"_*", "*_"+word+"_*")
		}
	}
	slices.Sort(patterns)
	return patterns
}

// secretName reports whether name is withheld by default. It is what SecretNames
// and harmlessNames say together, but looks up each word and each pair of words
// in place of matching hundreds of patterns.
func secretName(name string) bool {
	var buf [64]byte
	folded := buf[:0]
	for i := range len(name) {
		c := name[i]
		switch {
		case c >= utf8.RuneSelf:
			return secretNameUnicode(name)
		case 'a' <= c && c <= 'z':
			c -= 'a' - 'A'
		case c == '-' || c == '.':
			c = '_'
		}
		folded = append(folded, c)
	}
	start, previous := 0, -1 // of the word, and of the one before it
	for i := 0; i <= len(folded); i++ {
		if i < len(folded) && folded[i] != '_' {
			continue
		}
		last := i == len(folded)
		if isSecretWord(folded[start:i], last) || previous >= 0 && isSecretWord(folded[previous:i], last) {
			return !matchAny(harmlessNames, string(folded))
		}
		previous, start = start, i+1
	}
	return false
}

func isSecretWord(word []byte, last bool) bool {
	where := secretWords[string(word)]
	return where == anywhere || where == atEnd && last
}

// secretNameUnicode is secretName for the rare name that is not ASCII, where
// case is not a matter of one bit: some characters beyond ASCII, such as U+212A,
// the sign for kelvin, are a letter of ASCII in another case.
func secretNameUnicode(name string) bool {
	name = strings.Map(func(r rune) rune {
		if r == '-' || r == '.' {
			return '_'
		}
		return r
	}, name)
	return matchAny(SecretNames(), name) && !matchAny(harmlessNames, name)
}
