package envpolicy

import "strings"

// A place says where in a name a word means a secret.
type place uint8

const (
	// anywhere: as any of the words.
	anywhere place = 1 << iota
	// atEnd: as the last word. Elsewhere the word has other meanings:
	// JWT_ISSUER, PASS_COUNT.
	atEnd
	// located: anywhere, unless the value is an absolute path. Some programs
	// take either a key or the file with the key.
	located
	// directory: as the last word after another one, unless the value is an
	// absolute path. For many programs, PWD is always a directory.
	directory
	// contract: anywhere, unless the value is an address on a block chain.
	// There, a token has an address.
	contract
)

// secretWords has the words, and pairs of words, that mean a secret in a name.
var secretWords = collect(secretLists)

// secretLists has the words of secretWords. It does not have TOKENS, because
// models are billed by tokens.
var secretLists = map[place]string{
	contract:  "TOKEN",
	directory: "PWD",
	located:   "CREDENTIAL CREDENTIALS CREDS PRIVATEKEY PRIVATE_KEY DEPLOY_KEY",

	anywhere: `
		ACCESSKEY ACCESSTOKEN APIKEY APIKEYS APISECRET APITOKEN AUTHKEY AUTHTOKEN CLIENTSECRET
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
}

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

// harmlessEnds are the last words of names that stay although they have a
// secret word: they tell the place of a secret, a way to get it, or its form.
var harmlessEnds = collect(map[place]string{atEnd: `
	ADDRESS ARN DIR DIRECTORY ENDPOINT FD FILE FILENAME FILEPATH FOLDER HOST LOCATION NAME PATH PORT REGION
	SOCK SOCKET URI URL USERNAME

	BACKEND CMD COMMAND HELPER MANAGER NAMESPACE PROVIDER PROVIDERS SOURCE STORE

	AGE ALGORITHM AUDIENCE BUDGET COUNT DAYS DISABLED ENABLED EXPIRATION EXPIRES EXPIRY FORMAT HOURS ISSUER
	LEN LENGTH LIFETIME LIMIT MAX METHOD MIN MINUTES MODE MS PATTERN POLICY PREFIX PROXY REGEX REQUIRED SCOPE SCOPES SECONDS SIZE
	SYMBOL TIMEOUT TTL TYPE VERSION
`})

// harmlessNames has patterns of other names that stay.
var harmlessNames = append(strings.Fields(`
	*_ENV_VAR *_EXPIRES_IN *_ISSUER_ID *TOKEN_BUCKET_*
	*BOS_TOKEN *EOS_TOKEN *PAD_TOKEN *STOP_TOKEN
	*COOKIE_HEADER *KEY_HEADER *SECRET_HEADER *TOKEN_HEADER
	*API_KEY_ID *ENCRYPTION_KEY_ID *KEY_KEY_ID *MASTER_KEY_ID *PRIVATE_KEY_ID *SIGNING_KEY_ID *TOKEN_ID

	OLD_PWD ORIG_PWD ORIGINAL_PWD INIT_PWD HOST_PWD SAVED_PWD
	*CSRF_COOKIE *XSRF_COOKIE HUDSON_COOKIE HUDSON_SERVER_COOKIE JENKINS_NODE_COOKIE JENKINS_SERVER_COOKIE
	XDG_SESSION_COOKIE

	ASK_PASS *_ASK_PASS *_ASK_VAULT_PASS
	APPLICATIONINSIGHTS_CONNECTION_STRING
	AZURE_TOKEN_CREDENTIALS
	CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE
	GCM_CREDENTIAL_CACHE_OPTIONS
	GOOGLE_APPLICATION_CREDENTIALS
	NSS_WRAPPER_PASSWD
	PASSWORD_STORE_*
	STARSHIP_SESSION_KEY
`), publicNames...)

// Some of these names need a reason:
//
//   - KEY_ID and TOKEN_ID are the public half of a pair, and the other half is
//     the secret. ACCESS_KEY_ID is an exception: that of AWS is useless alone,
//     but scanners of logs and of commits raise an alarm over it, and nothing
//     works with half of the pair.
//   - A header variable has the name of a header, and CSRF_COOKIE has the name
//     of a cookie. Jenkins gives its processes cookies, and by them it finds
//     the processes that it has to end. BOS_TOKEN and similar names are the
//     begin and the end of texts for a model.
//   - ASK_PASS is a yes or a no: ANSIBLE_BECOME_ASK_PASS. Every page that uses
//     APPLICATIONINSIGHTS sends its value along. AZURE_TOKEN_CREDENTIALS is a
//     kind of credentials, and GCM_CREDENTIAL_CACHE_OPTIONS are options. The
//     next ones are paths, like *_FILE. PASSWORD_STORE_* are settings of pass,
//     and its PASSWORD_STORE_KEY is the ID of a public key.
//     STARSHIP_SESSION_KEY names a log.

// publicNames has patterns of names whose values go to every browser: variables
// that build tools compile into a web page, and keys that are made for web
// pages.
var publicNames = strings.Fields(`
	BUN_PUBLIC_* EXPO_PUBLIC_* GATSBY_* NEXT_PUBLIC_* NG_APP_* NUXT_PUBLIC_* NX_PUBLIC_* PLASMO_PUBLIC_* PUBLIC_*
	REACT_APP_* STORYBOOK_* VITE_* VUE_APP_*
	*ANON_KEY *PUBLISHABLE_KEY *PUSHER_APP_KEY
`)
