package envpolicy_test

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
)

var secretNames = strings.Fields(`
	OPENAI_API_KEY ANTHROPIC_API_KEY GEMINI_API_KEY OPENAI_KEY AZURE_OPENAI_API_KEY APIKEY API_KEY API_KEYS MY_APIKEY
	OPENAI_API_KEY_2 API_KEY_PROD openai_api_key Api_Key
	GITHUB_TOKEN GH_TOKEN GITHUB_TOKEN_2 TOKEN token NPM_TOKEN SLACK_BOT_TOKEN HF_TOKEN VAULT_TOKEN KUBE_TOKEN
	TWILIO_AUTH_TOKEN SENTRY_AUTH_TOKEN NETLIFY_AUTH_TOKEN TF_TOKEN_app_terraform_io AWS_BEARER_TOKEN_BEDROCK
	ACTIONS_ID_TOKEN_REQUEST_TOKEN CI_JOB_TOKEN NGROK_AUTHTOKEN TS_AUTHKEY
	GH_PAT AZURE_DEVOPS_EXT_PAT PAT
	DB_PASSWORD PASSWORD PASSWD PGPASSWORD REDIS_PASSWORD MYSQL_PWD DB_PWD DATABASE_PASS DB_PASS SSHPASS PASS
	GPG_PASSPHRASE BORG_PASSPHRASE PASSPHRASE TF_VAR_db_password POSTGRES_PASSWORD_TEST
	AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_ACCESS_KEY_ID ALIBABA_CLOUD_ACCESS_KEY_ID ARM_ACCESS_KEY
	SECRET CLIENT_SECRET AZURE_CLIENT_SECRET JWT_SECRET SECRET_KEY_BASE DJANGO_SECRET_KEY STRIPE_SECRET_KEY
	STRIPE_SECRET_KEY_LIVE VAULT_SECRET_ID SECRETS
	PRIVATE_KEY SSH_PRIVATE_KEY ENCRYPTION_KEY SIGNING_KEY MASTER_KEY RAILS_MASTER_KEY AIRFLOW__CORE__FERNET_KEY
	APP_KEY DD_APP_KEY B2_APPLICATION_KEY SUPABASE_SERVICE_ROLE_KEY AZURE_STORAGE_ACCOUNT_KEY
	GOOGLE_CREDENTIALS MY_CREDENTIALS CREDENTIALS AWS_CREDS CI_JOB_JWT RELEASE_COOKIE
	DOCKER_AUTH_CONFIG COMPOSER_AUTH npm_config__auth npm_config_//registry.npmjs.org/:_authToken
	OTEL_EXPORTER_OTLP_HEADERS OTEL_EXPORTER_OTLP_TRACES_HEADERS AZURE_STORAGE_CONNECTION_STRING
	spring.datasource.password my-api-key
	PASSWORD_ÄLTER
`)

var harmlessNames = strings.Fields(`
	PATH HOME PWD OLDPWD INIT_CWD ORIGINAL_PWD USER SHELL TERM COLORTERM LANG LC_ALL TZ EDITOR
	KEYBOARD_LAYOUT KEYMAP KEY_REPEAT MONKEY LESSKEY HOTKEY KEY PUBLIC_KEY SSH_PUBLIC_KEY GPG_KEY CACHE_KEY SSH_KEY
	MAX_TOKENS TOKENS CLAUDE_CODE_MAX_OUTPUT_TOKENS TOKENIZERS_PARALLELISM TOKENIZER TOKEN_LIMIT TOKEN_COUNT TOKEN_TTL
	TOKEN_URL TOKEN_BUDGET
	GPG_KEY_ID KEY_ID KMS_KEY_ID APP_STORE_CONNECT_API_KEY_ID SIGNING_KEY_ID MODAL_TOKEN_ID
	SSH_AUTH_SOCK SSH_AGENT_PID SSH_ASKPASS GIT_ASKPASS GPG_TTY XAUTHORITY DBUS_SESSION_BUS_ADDRESS
	HTTP_PROXY HTTPS_PROXY ALL_PROXY NO_PROXY http_proxy https_proxy no_proxy npm_config_proxy GOPROXY
	AWS_SHARED_CREDENTIALS_FILE GOOGLE_APPLICATION_CREDENTIALS POSTGRES_PASSWORD_FILE SECRET_PATH SECRETS_DIR
	AWS_WEB_IDENTITY_TOKEN_FILE ACTIONS_ID_TOKEN_REQUEST_URL AWS_CONTAINER_CREDENTIALS_RELATIVE_URI PGPASSFILE
	RESTIC_PASSWORD_COMMAND BORG_PASSPHRASE_FD SECRET_NAME PASSWORD_MIN_LENGTH PASSWORD_STORE_KEY PASSWORD_STORE_DIR
	CLOUDSDK_AUTH_CREDENTIAL_FILE_OVERRIDE
	PASSTHROUGH PASS_COUNT PASSENGER COMPASS BYPASS AUTHOR GIT_AUTHOR_NAME GIT_AUTHOR_EMAIL SECRETARY
	JWT_ISSUER JWT_ALGORITHM PATTERN PATCH PATIENCE SPAT COOKIE_DOMAIN
	XDG_SESSION_ID XDG_RUNTIME_DIR SESSION_MANAGER CARGO_HOME GOPRIVATE GOAUTH GOFLAGS CREDENTIALED
	_ __ = é SCHLÜSSEL TOKENÜ
`)

func TestSecretName(t *testing.T) {
	for _, name := range secretNames {
		require.True(t, envpolicy.SecretName(name), "%s must go", name)
	}
	require.True(t, envpolicy.SecretName("TO\u212aEN"), "the sign for kelvin is a K in another case")
	for _, name := range harmlessNames {
		require.False(t, envpolicy.SecretName(name), "%s must stay", name)
	}
}

// Read only once, because the fuzz targets ask the oracle about every name.
var defaultPatterns, defaultExceptions = envpolicy.SecretNames(), envpolicy.HarmlessNames()

var (
	parts        = regexp.MustCompile(`[-._]+`)
	smallThenBig = regexp.MustCompile(`([a-z0-9])([A-Z])`)
	acronym      = regexp.MustCompile(`([A-Z])([A-Z][a-z])`)
	numberAtEnd  = regexp.MustCompile(`_?[0-9]+$`)
)

// secretNameOracle is the rule as the docs state it: patterns and exceptions,
// for the name as it is, and for the name with its words separated where the
// case changes.
func secretNameOracle(name string) bool { return secretBy(name, defaultPatterns) }

func secretBy(name string, patterns []string) bool {
	name = parts.ReplaceAllString(name, "_")
	split := acronym.ReplaceAllString(smallThenBig.ReplaceAllString(name, "${1}_$2"), "${1}_$2")
	split = parts.ReplaceAllString(split, "_")
	name, split = numberAtEnd.ReplaceAllString(name, ""), numberAtEnd.ReplaceAllString(split, "")
	matches := func(pattern string) bool {
		return envpolicy.Match(pattern, name) || split != name && envpolicy.Match(pattern, split)
	}
	return slices.ContainsFunc(patterns, matches) && !slices.ContainsFunc(defaultExceptions, matches)
}

var (
	tokenPatterns = []string{"TOKEN", "TOKEN_*", "*_TOKEN", "*_TOKEN_*"}
	pathPatterns  = func() []string {
		patterns := []string{"*_PWD"}
		for _, w := range strings.Fields("CREDENTIAL CREDENTIALS CREDS PRIVATEKEY PRIVATE_KEY DEPLOY_KEY") {
			patterns = append(patterns, w, w+"_*", "*_"+w, "*_"+w+"_*")
		}
		return patterns
	}()
	otherPatterns = slices.DeleteFunc(slices.Clone(defaultPatterns), func(p string) bool {
		return slices.Contains(pathPatterns, p) || slices.Contains(tokenPatterns, p)
	})
	harmlessValue = regexp.MustCompile(`^(?:|(?i:true|false|yes|no|on|off)|(?s:(?:pk_live_|pk_test_|sb_publishable_|pk\.eyJ).*))$`)
	absolutePath  = regexp.MustCompile(`^(/|[A-Za-z]:[\\/])[^!"#$%&'*+;<=>?[\]^\x60{|}]*$`)
	anAddress     = regexp.MustCompile(`^0x[0-9A-Fa-f]{40}$`)
)

// secretOracle is the rule for a name and its value.
func secretOracle(name, value string) bool {
	path, token := secretBy(name, pathPatterns), secretBy(name, tokenPatterns)
	switch {
	case envpolicy.SecretValue(name, value):
		return true
	case harmlessValue.MatchString(value):
		return false
	case secretBy(name, otherPatterns), path && token:
		return true
	case path:
		return !absolutePath.MatchString(value)
	}
	return token && !anAddress.MatchString(value)
}

// People read SecretNames, but the code looks up words. The two must not
// differ.
func TestSecretNameIsSecretNames(t *testing.T) {
	words := envpolicy.SecretWords()
	for _, p := range envpolicy.HarmlessNames() {
		words = append(words, strings.Trim(p, "*_"))
	}
	words = append(words, "", "A", "KEY", "PWD", "AUTH", "ID", "ACCESS", "API", "_", "é", "to\u212aen")
	slices.Sort(words)
	check := func(name string) {
		require.Equal(t, secretNameOracle(name), envpolicy.SecretName(name), "%q", name)
	}
	for _, w := range words {
		for _, name := range []string{w, "X" + w, w + "X", "X_" + w, w + "_X", "X_" + w + "_X", "_" + w, w + "_", strings.ToLower(w)} {
			check(name)
		}
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 5_000 {
		name := words[rnd.IntN(len(words))]
		for range rnd.IntN(4) {
			name += []string{"_", "_", "_", "-", ".", ""}[rnd.IntN(6)] + words[rnd.IntN(len(words))]
		}
		check(name)
	}
}

func FuzzSecretName(f *testing.F) {
	for _, name := range append(slices.Clone(secretNames), harmlessNames...) {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		require.Equal(t, secretNameOracle(name), envpolicy.SecretName(name), "%q", name)
	})
}

// No listed word has a number at its end, because a name loses its number
// before the lookup. And each word is in one list only.
func TestWords(t *testing.T) {
	words := envpolicy.SecretWords()
	for _, w := range words {
		require.Regexp(t, `^[A-Z0-9_]*[A-Z]$`, w)
	}
	for _, p := range envpolicy.HarmlessNames() {
		require.Regexp(t, `^\*?[A-Z0-9_]*[A-Z_]\*?$`, p, "no other kind is looked for")
		require.NotContains(t, p, "__")
	}
	slices.Sort(words)
	require.Len(t, slices.Compact(slices.Clone(words)), len(words), "a word is listed twice")
}
