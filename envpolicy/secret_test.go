package envpolicy_test

import (
	"math/rand/v2"
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

// Fetched once: the fuzz targets ask the oracle about every name.
var defaultPatterns, defaultExceptions = envpolicy.SecretNames(), envpolicy.HarmlessNames()

// secretNameOracle is the rule as the docs state it: patterns, and exceptions.
func secretNameOracle(name string) bool {
	name = strings.NewReplacer("-", "_", ".", "_").Replace(name)
	matches := func(pattern string) bool { return envpolicy.Match(pattern, name) }
	return slices.ContainsFunc(defaultPatterns, matches) && !slices.ContainsFunc(defaultExceptions, matches)
}

// SecretNames is for people to read, the lookup by words is what runs: they must
// not differ.
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

// random returns n characters that look random and are not, so that no scanner
// takes this file for a leak.
func random(n int) string {
	return strings.Repeat("a1B2c3D4e5F6", n/12+1)[:n]
}

// secretValues are put together from pieces for the same reason.
var secretValues = map[string]string{
	"pem":                 "-----BEGIN " + "PRIVATE KEY-----\nMII\n-----END PRIVATE KEY-----\n",
	"pem rsa":             "-----BEGIN " + "RSA PRIVATE KEY-----\nMII",
	"pem openssh":         "-----BEGIN " + "OPENSSH PRIVATE KEY-----\nb3B",
	"pem encrypted":       "-----BEGIN " + "ENCRYPTED PRIVATE KEY-----\nMII",
	"pgp":                 "-----BEGIN " + "PGP PRIVATE KEY BLOCK-----\n\nlQ",
	"pem after a cert":    "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n-----BEGIN " + "EC PRIVATE KEY-----\nMII",
	"pem in json":         `{"type":"service_account","private_key":"-----BEGIN ` + `PRIVATE KEY-----\nMII"}`,
	"url":                 "postgres://u:p@h/db",
	"url, no user":        "redis://:p@h",
	"url, @ in password":  "mysql://u:p@ss@h/db",
	"url, several hosts":  "mongodb+srv://u:p@h1:1,h2:2/db?x=y",
	"url in a list":       "https://proxy.example,https://u:p@example.com/go,direct",
	"url, jdbc":           "jdbc:postgresql://u:p@h/db",
	"url, query":          "jdbc:postgresql://h/db?user=u&password=p",
	"url, signed":         "https://a.blob.core.windows.net/c?sv=1&sig=abc",
	"url, token as user":  "https://ghp_" + random(36) + "@github.com/a/b",
	"dsn, libpq":          "host=h user=u password=p",
	"dsn, ado":            "Server=h;User Id=u;Password=p;",
	"dsn, odbc":           "Driver={x};UID=u;PWD=p",
	"dsn, azure":          "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=b==;EndpointSuffix=c",
	"header":              "Authorization: Basic dTpw",
	"bearer":              "Bearer " + random(20),
	"basic":               "basic dXNlcjpwYXNz/+==",
	"slack webhook":       "https://hooks.slack.com/services/T0/B0/x",
	"discord webhook":     "https://discord.com/api/webhooks/1/x",
	"openai":              "sk-" + random(48),
	"openai project":      "sk-proj-" + random(60) + "-" + random(60),
	"anthropic":           "sk-ant-api03-" + random(93),
	"openrouter":          "sk-or-v1-" + random(64),
	"github":              "ghp_" + random(36),
	"github oauth":        "gho_" + random(36),
	"github user":         "ghu_" + random(36),
	"github server":       "ghs_" + random(36),
	"github refresh":      "ghr_" + random(36),
	"github fine-grained": "github_pat_" + random(22) + "_" + random(59),
	"gitlab":              "glpat-" + random(20),
	"gitlab with hyphens": "glpat-aB-cD_eF-gH_iJ-kL_mN",
	"slack bot":           "xoxb-123456789012-1234567890123-" + random(24),
	"slack user":          "xoxp-123456789012-" + random(24),
	"aws":                 "AKIA" + "ABCDEFGHIJ234567",
	"aws temporary":       "ASIA" + "ABCDEFGHIJ234567",
	"google":              "AIza" + random(35),
	"hugging face":        "hf_" + random(34),
	"npm":                 "npm_" + random(36),
	"pypi":                "pypi-" + random(160),
	"sendgrid":            "SG." + random(22) + "." + random(43),
	"digitalocean":        "dop_v1_" + random(64),
	"stripe":              "sk_live_" + random(24),
	"stripe restricted":   "rk_live_" + random(24),
	"jwt":                 "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0." + random(43),
}

var harmlessValues = map[string]string{
	"empty":                 "",
	"short":                 "sk-",
	"path":                  "/usr/local/bin:/usr/bin:/bin",
	"words after sk-":       "sk-learn",
	"many words":            "sk-learn-2024-experiments-with-models-v1",
	"one long word":         "sk-learnexperimentswithoutdigits",
	"a token in a sentence": "see ghp_" + random(36),
	"a token in a path":     "/tmp/ghp_" + random(36),
	"too short":             "ghp_" + random(10),
	"npm words":             "npm_config_registry_and_other_long_settings",
	"hf words":              "hf_transformers_cache_directory_2024",
	"aws, too long":         "AKIA" + "ABCDEFGHIJ2345678",
	"aws, a word":           "ASIA_PACIFIC_SOUTH_1",
	"google, too short":     "AIza" + random(30),
	"public stripe":         "pk_live_" + random(24),
	"a hash":                "0123456789abcdef0123456789abcdef01234567",
	"a uuid":                "123e4567-e89b-12d3-a456-426614174000",
	"certificate":           "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n",
	"public key":            "-----BEGIN PUBLIC KEY-----\nMII\n-----END PUBLIC KEY-----\n",
	"pgp public key":        "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQ",
	"unfinished armor":      "-----BEGIN ",
	"url":                   "https://example.com:8080/a@b:c",
	"url, query":            "https://example.com?q=a:b@c",
	"url, user":             "ssh://git@example.com:22/a",
	"url, empty password":   "ftp://anonymous:@example.com/",
	"url, sentry":           "https://0123456789abcdef0123456789abcdef@o1.ingest.sentry.io/1",
	"scp":                   "git@github.com:a/b.git",
	"bus":                   "unix:path=/run/user/1000/bus",
	"libpq, no password":    "host=h user=u",
	"one field":             "password=hunter2",
	"a reference":           "read -r x; password=$x login",
	"LS_COLORS":             "rs=0:di=01;34:ln=01;36:pi=40;33:*.tar=01;31",
	"JAVA_OPTS":             "-Xmx1g -Dfile.encoding=UTF-8 -Dx=y",
	"basic words":           "basic configuration",
	"bearer words":          "bearer of 10 bad news",
	"two dots":              "eyJ.a.b, which is no token at all",
	"slack":                 "https://hooks.slack.com/",
	"jwt header":            "eyJhbGciOiJIUzI1NiJ9",
}

func TestSecretValue(t *testing.T) {
	for name, value := range secretValues {
		require.True(t, envpolicy.SecretValue("X", value), "%s must go", name)
	}
	for name, value := range harmlessValues {
		require.False(t, envpolicy.SecretValue("X", value), "%s must stay", name)
	}
}

func TestSecretValueOfProxy(t *testing.T) {
	const value = "http://u:p@proxy.example:3128"
	for _, name := range []string{"HTTP_PROXY", "https_proxy", "ALL_PROXY", "npm_config_proxy", "proxy"} {
		require.False(t, envpolicy.SecretValue(name, value), name)
	}
	for _, name := range []string{"GOPROXY", "PROXY_URL", "X"} {
		require.True(t, envpolicy.SecretValue(name, value), name)
	}
	require.True(t, envpolicy.SecretValue("HTTP_PROXY", "ghp_"+random(36)), "any other secret goes")
}
