package envpolicy

import (
	"regexp"
	"slices"
	"strings"
)

// A place says where in a name a word means a secret.
type place uint8

const (
	// anywhere: as any of the words.
	anywhere place = 1 << iota
	// atEnd: as the last word. Elsewhere the word has other meanings:
	// JWT_ISSUER, PASS_COUNT.
	atEnd
	// located: anywhere, unless the value is an absolute path. Some programs
	// take either a key or the file with the key, and PWD is mostly a directory.
	located
)

// secretWords has the words, and pairs of words, that mean a secret in a name. It
// does not have TOKENS, because models are billed by tokens.
var secretWords = collect(map[place]string{
	located: "CREDENTIAL CREDENTIALS CREDS DEPLOY_KEY PRIVATEKEY PRIVATE_KEY PWD",

	anywhere: `
		TOKEN ACCESSKEY ACCESSTOKEN APIKEY APIKEYS APISECRET APITOKEN AUTHKEY AUTHTOKEN CLIENTSECRET
		MNEMONIC PASSCODE PASSPHRASE PASSPHRASES PASSWD PASSWORD PASSWORDS PRIVKEY SECRET SECRETKEY SECRETS
		WRITEKEY
		DBPASSWORD MONGOPASSWORD MYSQLPASSWORD PGPASSWORD REDISPASSWORD

		ACCESS_TOKENS API_TOKENS AUTH_TOKENS GITHUB_TOKENS
		ACCESS_KEYS API_KEYS ENCRYPTION_KEYS PRIVATE_KEYS SIGNING_KEYS
		DOCKER_AUTH OP_SESSION` + pairs(keyWords, "KEY"),

	// PAT is a personal access token, and CONFIG_AUTH belongs to npm. Headers
	// carry keys, and IDENTITY_HEADER is Azure's header for a managed identity.
	// MEMORY_KEY is the signing key of Gradle:
	// ORG_GRADLE_PROJECT_signingInMemoryKey. OP and BW are 1Password and
	// Bitwarden, and AOC is a puzzle for December.
	atEnd: `
		AUTHORIZATION BEARER COOKIE DBPASS DBPWD JWT KEYPASS KUBETOKEN PASS PAT PSK PW SSHPASS USERPWD
		BASIC_AUTH COMPOSER_AUTH CONFIG_AUTH HTTP_AUTH NEO4J_AUTH NPM_AUTH REDISCLI_AUTH REDIS_AUTH REGISTRY_AUTH
		AOC_SESSION BW_SESSION FASTLANE_SESSION
		CUSTOM_HEADERS LOGS_HEADERS METRICS_HEADERS OTLP_HEADERS TRACES_HEADERS IDENTITY_HEADER
		CONNECTION_STRING MEMORY_KEY RECOVERY_PHRASE SEED_PHRASE` +
		pairs("ADMIN DB FTP LDAP MAIL MYSQL REDIS SMTP USER", "PWD"),
})

// keyWords are the words before KEY with which KEY means a secret: kinds of
// keys, and services that give a key to each customer. Most kinds of keys are
// no secrets: PUBLIC_KEY, GPG_KEY, CACHE_KEY. ROLE is for
// SUPABASE_SERVICE_ROLE_KEY, and SA is a service account.
const keyWords = `
	ACCESS ACCOUNT ADMIN AES AGE API APP APPLICATION AUTH AUTHENTICATION CIPHER CONSUMER COOKIE CRYPT CRYPTO
	DECRYPTION DEPLOYER ENCRYPTION FERNET HMAC INGESTION INTEGRATION JWT LICENSE MANAGEMENT MASTER
	PRESHARED PRIV ROLE ROOT SA SDK SERVICE SESSION SHARED SIGNING STORAGE SUBSCRIPTION WALLET
	WEBHOOK

	AI ANTHROPIC ASSEMBLYAI BRAVE CEREBRAS CLAUDE COHERE DASHSCOPE DEEPGRAM DEEPSEEK ELEVENLABS EXA
	FIRECRAWL FIREWORKS GEMINI GPT GROK GROQ HF HUGGINGFACE JINA KAGGLE LANGCHAIN LANGFUSE LANGSMITH LLM
	MISTRAL MOONSHOT NVIDIA OPENAI OPENROUTER PERPLEXITY PINECONE QDRANT REPLICATE SERPAPI SERPER STABILITY
	TAVILY TOGETHER TOGETHERAI VOYAGE WANDB WEAVIATE XAI

	AWS AZURE CF CLOUDFLARE COSMOS COSMOSDB DIGITALOCEAN FIREBASE GCLOUD GCP GOOGLE HEROKU HETZNER LINODE
	NETLIFY SPACES SPEECH SUPABASE TRANSLATOR VERCEL VULTR

	AIRTABLE ALCHEMY ALGOLIA ALPACA ASANA ATLASSIAN BINANCE BITBUCKET BREVO BUGSNAG CLERK COINBASE DATADOG
	DD DISCORD DOCKERHUB DOPPLER DROPBOX ELASTIC ETHERSCAN FINNHUB GITHUB GITLAB GRAFANA HONEYBADGER
	HONEYCOMB INFURA JIRA KRAKEN LAUNCHDARKLY LINEAR MAILCHIMP MAILGUN MAILJET MEILISEARCH MORALIS NEWRELIC
	NGROK NOTION NPM NUGET OKTA OPENWEATHER OPENWEATHERMAP OPSGENIE PAGERDUTY PAYPAL PLAID POLYGONSCAN
	POSTMARK PULUMI PYPI QUICKNODE RAPIDAPI RELIC RESEND ROLLBAR RUBYGEMS SENDGRID SHOPIFY SLACK SNYK SONAR
	SPARKPOST SPLUNK SQUARE STRIPE TAILSCALE TELEGRAM TENDERLY TMDB TWILIO TYPESENSE WEATHER WORKOS
`

// pairs returns the pairs of each of the words and a second word.
func pairs(words, second string) string {
	var b strings.Builder
	for w := range strings.FieldsSeq(words) {
		b.WriteString(" " + w + "_" + second)
	}
	return b.String()
}

func collect(words map[place]string) map[string]place {
	m := make(map[string]place)
	for where, list := range words {
		for w := range strings.FieldsSeq(list) {
			m[w] = where
		}
	}
	return m
}

// harmlessEnds are the last words of names that stay although they have a secret
// word: they say that the value is the place of a secret, a way to get it, its form or
// its life time.
//
// KEY_ID and TOKEN_ID are the public half of a pair; the ID of an AWS access key is
// withheld anyway, because nothing works with half of that pair. A header variable
// holds the name of a header, CSRF_COOKIE the name of a cookie, and BOS_TOKEN the
// marker that begins a text for a model. Jenkins uses a cookie to find the processes
// it has to end. ASK_PASS is a yes or a no.
var harmlessEnds = append(strings.Fields(`
	_ADDRESS _ARN _DIR _DIRECTORY _ENDPOINT _FD _FILE _FILENAME _FILEPATH _FOLDER _HOST _LOCATION _NAME _PATH _PORT
	_REGION _SOCK _SOCKET _URI _URL _USERNAME
	_BACKEND _CMD _COMMAND _HELPER _MANAGER _NAMESPACE _PROVIDER _PROVIDERS _SOURCE _STORE
	_AGE _ALGORITHM _AUDIENCE _BUDGET _COUNT _DAYS _DISABLED _ENABLED _EXPIRATION _EXPIRES _EXPIRES_IN _EXPIRY _FORMAT
	_HOURS _ISSUER _ISSUER_ID _LEN _LENGTH _LIFETIME _LIMIT _MAX _METHOD _MIN _MINUTES _MODE _MS _PATTERN _POLICY _PREFIX
	_PROXY _REGEX _REQUIRED _SCOPE _SCOPES _SECONDS _SIZE _SYMBOL _TIMEOUT _TTL _TYPE _VERSION
	_ASK_PASS _ASK_VAULT_PASS _ENV_VAR
	API_KEY_ID ENCRYPTION_KEY_ID KEY_KEY_ID MASTER_KEY_ID PRIVATE_KEY_ID SIGNING_KEY_ID TOKEN_ID
	COOKIE_HEADER KEY_HEADER SECRET_HEADER TOKEN_HEADER
	CSRF_COOKIE XSRF_COOKIE HUDSON_COOKIE HUDSON_SERVER_COOKIE JENKINS_NODE_COOKIE JENKINS_SERVER_COOKIE XDG_SESSION_COOKIE
	BOS_TOKEN EOS_TOKEN PAD_TOKEN STOP_TOKEN
	APPLICATIONINSIGHTS_CONNECTION_STRING AZURE_TOKEN_CREDENTIALS CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE
	GCM_CREDENTIAL_CACHE_OPTIONS GOOGLE_APPLICATION_CREDENTIALS NSS_WRAPPER_PASSWD STARSHIP_SESSION_KEY
`), publicEnds...)

// harmlessBegins are the beginnings of more of them.
var harmlessBegins = append([]string{"PASSWORD_STORE_", "TOKEN_BUCKET_"}, publicBegins...)

// publicBegins and publicEnds are of names whose values go to every browser: variables
// that build tools compile into a web page, and keys that are made for web pages.
var (
	publicBegins = strings.Fields(`
		BUN_PUBLIC_ EXPO_PUBLIC_ GATSBY_ NEXT_PUBLIC_ NG_APP_ NUXT_PUBLIC_ NX_PUBLIC_ PLASMO_PUBLIC_ PUBLIC_
		REACT_APP_ STORYBOOK_ VITE_ VUE_APP_
	`)
	publicEnds = []string{"ANON_KEY", "PUBLISHABLE_KEY", "PUSHER_APP_KEY"}
)

// hasAny reports whether a name begins or ends with one of some texts.
func hasAny(name string, begins, ends []string) bool {
	return slices.ContainsFunc(begins, func(b string) bool { return strings.HasPrefix(name, b) }) ||
		slices.ContainsFunc(ends, func(e string) bool { return strings.HasSuffix(name, e) })
}

// IsSecret reports whether a variable looks like a secret, so that the zero
// [Policy] withholds it.
//
// By its name, a variable is a secret if one of the words is, such as TOKEN, or two
// of them, such as API_KEY. Words are separated by _ - and . and by a change of
// case, as in openaiApiKey, and a number at the end is no word. Parts of words don't
// count: KEYBOARD_LAYOUT stays, and so does MAX_TOKENS. A name that describes a secret
// or says where it is stays too (TOKEN_TTL, PASSWORD_FILE), as do names whose values
// go to every browser (NEXT_PUBLIC_*), and values that are no secrets: true, false
// and the like, publishable keys of Stripe, Supabase and Mapbox, and absolute paths
// under names that may hold a path, such as GOOGLE_CREDENTIALS.
//
// Under any name, a value is a secret if it is plainly one.
func IsSecret(name, value string) bool {
	return secretName(name, value) || secretValue(name, value)
}

// secretName reports whether a variable is a secret by the words of its name.
func secretName(name, value string) bool {
	places := place(0)
	for _, split := range []bool{false, true} {
		words := words(name, split)
		found := placesIn(words)
		if found != 0 && hasAny(strings.Join(words, "_"), harmlessBegins, harmlessEnds) {
			return false
		}
		places |= found
	}
	switch {
	case places == 0:
		return false
	case places == located && absolute.MatchString(value):
		return false
	}
	return !noSecret.MatchString(value)
}

var (
	// noSecret matches a yes and a no, and the keys that services give out for web pages:
	// Stripe and Clerk, Supabase, Mapbox.
	noSecret = regexp.MustCompile(`^(?:|(?i:true|false|yes|no|on|off)|(?s:(?:pk_live_|pk_test_|sb_publishable_|pk\.eyJ).*))$`)
	// absolute matches a path, and no password that begins like one.
	absolute = regexp.MustCompile("^(?:/|[A-Za-z]:[\\\\/])[^!\"#$%&'*+;<=>?\\[\\]^`{|}]*$")
)

// placesIn returns the kinds of all secret words, and of pairs of them, in a name.
func placesIn(words []string) (places place) {
	for i, w := range words {
		found := secretWords[w]
		if i > 0 {
			found |= secretWords[words[i-1]+"_"+w]
		}
		if i < len(words)-1 {
			found &^= atEnd
		}
		places |= found
	}
	return places
}

// words returns the words of a name in upper case, without a number at the end. If
// split is set, a change of case also separates words: fooBar, FOOBar.
func words(name string, split bool) []string {
	var b []byte
	for i := range len(name) {
		c := name[i]
		switch {
		case isLower(c):
			c -= 'a' - 'A'
		case c == '-' || c == '.':
			c = '_'
		case split && i > 0 && isUpper(c) && (isLower(name[i-1]) || isDigit(name[i-1]) ||
			isUpper(name[i-1]) && i+1 < len(name) && isLower(name[i+1])):
			b = append(b, '_')
		}
		if c != '_' || len(b) == 0 || b[len(b)-1] != '_' {
			b = append(b, c)
		}
	}
	return strings.Split(strings.TrimSuffix(strings.TrimRight(string(b), "0123456789"), "_"), "_")
}

func isLower(c byte) bool { return 'a' <= c && c <= 'z' }
func isUpper(c byte) bool { return 'A' <= c && c <= 'Z' }
func isDigit(c byte) bool { return '0' <= c && c <= '9' }
