package envpolicy_test

import (
	"encoding/base64"
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
	JPY_API_TOKEN JUPYTER_TOKEN GITHUB_PAT GH_PAT_2 GITHUB_APP_PRIVATE_KEY GITLAB_KEY ACTIONS_RUNTIME_TOKEN
	INPUT_GITHUB-TOKEN INPUT_TOKEN CI_REGISTRY_PASSWORD CI_DEPLOY_PASSWORD JENKINS_API_TOKEN CIRCLE_TOKEN
	CIRCLE_OIDC_TOKEN_V2 GCLOUD_SERVICE_KEY BUILDKITE_AGENT_ACCESS_TOKEN SYSTEM_ACCESSTOKEN
	AWS_CONTAINER_AUTHORIZATION_TOKEN CLOUDSDK_AUTH_ACCESS_TOKEN GOOGLE_KEY SPEECH_KEY OCP_APIM_SUBSCRIPTION_KEY
	CF_API_TOKEN CF_Key HEROKU_API_KEY HCLOUD_TOKEN HELM_KUBETOKEN SOPS_AGE_KEY TF_VAR_dbPassword openaiApiKey
	OPENAI_API_KEY2 OpenAIKey openAIKey OPENAIApiKey ANTHROPIC_AUTH_TOKEN MISTRAL_KEY GROQ_KEY DEEPSEEK_KEY
	EXPO_TOKEN NUXT_API_SECRET STRIPE_KEY SESSION_COOKIE LAUNCHDARKLY_SDK_KEY SPRING_DATASOURCE_PASSWORD
	dbPassword XApiKey X-Api-Key GitHubToken OAuthToken clientSecret ORACLE_PWD MSSQL_SA_PASSWORD DB_PW PW
	adminPw REDIS_AUTH REDISCLI_AUTH dbpwd RABBITMQ_DEFAULT_PASS COSMOS_KEY CARGO_REGISTRY_TOKEN
	POETRY_HTTP_BASIC_X_PASSWORD TWINE_PASSWORD UV_INDEX_X_PASSWORD VSCE_PAT
	ORG_GRADLE_PROJECT_signingInMemoryKey ORG_GRADLE_PROJECT_mavenCentralPassword APP_STORE_CONNECT_API_KEY_KEY
	COSIGN_PASSWORD ANSIBLE_BECOME_PASS P4PASSWD OP_SESSION_my BW_SESSION FASTLANE_SESSION Jwt__Key
	Authentication__Google__ClientSecret PUSHER_APP_SECRET WALLET_KEY MNEMONIC INFURA_KEY
	GITHUB_TOKENS GCP_SA_KEY IDENTITY_HEADER CONSUL_HTTP_AUTH NEO4J_AUTH
	PASSWORD_ÄLTER
`)

// harmlessNames have no secret, or one that everybody gets: build tools put the variables
// of VITE, NEXT_PUBLIC and the like into each page.
var harmlessNames = strings.Fields(`
	PATH HOME OLDPWD INIT_CWD USER SHELL TERM COLORTERM LANG LC_ALL TZ EDITOR
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
	SUDO_ASKPASS GNOME_KEYRING_CONTROL KITTY_WINDOW_ID DESKTOP_STARTUP_ID WINDOWPATH CREDENTIALS_DIRECTORY
	NSS_WRAPPER_PASSWD HISTCONTROL VSCODE_GIT_ASKPASS_NODE VSCODE_GIT_ASKPASS_MAIN VSCODE_GIT_IPC_HANDLE
	VSCODE_IPC_HOOK NVIM GCM_CREDENTIAL_STORE GIT_CREDENTIAL_HELPER GITHUB_APP_ID GITHUB_REPOSITORY GITHUB_SHA
	GITHUB_REF GITHUB_OUTPUT GITHUB_STEP_SUMMARY RUNNER_TEMP GOOGLE_GHA_CREDS_PATH CI_JOB_ID CI_REGISTRY_USER
	CI_COMMIT_SHA CI_SERVER_TLS_KEY_FILE JENKINS_NODE_COOKIE JENKINS_SERVER_COOKIE HUDSON_COOKIE BUILD_TAG
	CIRCLE_SHA1 ENDPOINT_AUTH_SCHEME_SYSTEMVSSCONNECTION AGENT_TOOLSDIRECTORY BUILD_SOURCEVERSION AWS_PROFILE
	AWS_REGION AWS_EC2_METADATA_DISABLED GOOGLE_CLOUD_PROJECT AZURE_CLIENT_ID AZURE_TENANT_ID
	AZURE_FEDERATED_TOKEN_FILE AZURE_TOKEN_CREDENTIALS CF_Account_ID KUBERNETES_SERVICE_HOST KUBECONFIG
	SOPS_AGE_KEY_FILE SECRETS_MANAGER_REGION SECRET_STORE ANTHROPIC_MODEL maxTokens TIKTOKEN_CACHE_DIR HF_HOME
	LANGSMITH_TRACING NEXT_PUBLIC_API_KEY VITE_API_TOKEN REACT_APP_SECRET EXPO_PUBLIC_API_KEY NUXT_PUBLIC_TOKEN
	VUE_APP_API_KEY GATSBY_ALGOLIA_API_KEY PUBLIC_POSTHOG_API_KEY STORYBOOK_API_KEY API_KEY_HEADER
	AUTH_TOKEN_HEADER CSRF_COOKIE XSRF_COOKIE SESSION_COOKIE_SECURE SESSION_COOKIE_NAME DJANGO_SETTINGS_MODULE
	ACCESS_TOKEN_EXPIRE_MINUTES ACCESS_TOKEN_EXPIRES_IN JWT_EXPIRES_IN TOKEN_ISSUER
	OAUTH_TOKEN_ENDPOINT_AUTH_METHOD passwordFile publicKey MYSQL_ALLOW_EMPTY_PASSWORD_POLICY PGHOST
	ORG_GRADLE_PROJECT_signingKeyId APP_STORE_CONNECT_API_KEY_ISSUER_ID ANSIBLE_VAULT_PASSWORD_FILE
	ANSIBLE_BECOME_ASK_PASS STARSHIP_SESSION_KEY ATUIN_SESSION TOKEN_BUCKET_RATE TOKEN_LIFETIME_MS
	EXTERNAL_SECRETS_NAMESPACE PUSHER_APP_KEY TOKEN_SYMBOL
	XDG_SESSION_COOKIE GCM_CREDENTIAL_CACHE_OPTIONS AWS_CREDENTIAL_EXPIRATION APPLICATIONINSIGHTS_CONNECTION_STRING
	EOS_TOKEN CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS tokenUrl TOKEN_REGEX TOKEN_ADDRESS
	_ __ = é SCHLÜSSEL TOKENÜ
`)

func TestSecretName(t *testing.T) {
	for _, name := range secretNames {
		require.True(t, envpolicy.IsSecret(name, "x"), "%s must go", name)
	}
	for _, name := range harmlessNames {
		require.False(t, envpolicy.IsSecret(name, "x"), "%s must stay", name)
	}
}

// random returns n characters that look random but are not. So no scanner takes
// this file for a leak.
func random(n int) string {
	return strings.Repeat("a1B2c3D4e5F6", n/12+1)[:n]
}

// secretValues are built from pieces for the same reason.
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
	"jwe":                 "eyJhbGciOiJSU0EtT0FFUCJ9." + random(43) + "." + random(16) + "." + random(16) + "." + random(22),

	"pem in base64":         base64.StdEncoding.EncodeToString([]byte("-----BEGIN " + "OPENSSH PRIVATE KEY-----\nb3B")),
	"pgp in base64":         base64.StdEncoding.EncodeToString([]byte("-----BEGIN " + "PGP PRIVATE KEY BLOCK-----\n\nlQ")),
	"putty":                 "PuTTY-User-Key-File-" + "3: ssh-ed25519",
	"dsn, go":               "u:p@tcp(h:3306)/db",
	"dsn, go, ipv6":         "u:p@tcp6([::1]:3306)/",
	"dsn, go, a socket":     "u:p@unix(/run/mysql.sock)/db?x=y",
	"dsn, go, cloud":        "u:p@cloudsql(project:region:instance)/db",
	"dsn, go, no address":   "u:p@/db",
	"dsn, oracle":           "u/p@//h:1521/s",
	"an option":             "mysql -h h --password=hunter2",
	"json":                  `{"host":"h","password":"p"}`,
	"json, with spaces":     `[ {"dbPassword" : "p", "clientSecret": "s"} ]`,
	"docker's login":        `{"auths":{"h":{"auth":"dTpw"}}}`,
	"npmrc":                 "registry=https://r.example\n//r.example/:_authToken=x",
	"netrc":                 "machine h login u password p",
	"netrc, lines":          "machine h\nlogin u\npassword p",
	"header in json":        `{"headers":{"Authorization":"Bearer ` + random(8) + `"}}`,
	"header in options":     "-H 'authorization: token " + random(8) + "'",
	"headers in both cases": "AUTHORIZATION: basic dTpw; see authorization: none",
	"second header":         "Accept: */*\nAUTHORIZATION: basic dTpw",
	"header of a key":       "X-Api-Key: " + random(8),
	"header of a cookie":    "Cookie: sid=x",
	"token in a sentence":   "see ghp_" + random(36),
	"one field":             "password=hunter2",
	"quoted token":          `"ghp_` + random(36) + `"`,
	"token and newline":     "ghp_" + random(36) + "\n",
	"user and token":        "u:ghp_" + random(36),
	"token and nothing":     "ghp_" + random(36) + ":x-oauth-basic",
	"several tokens":        "ghp_" + random(36) + ",ghp_" + random(36),
	"aws bedrock":           "ABSK" + random(60) + "/" + random(60) + "=",
	"aws bedrock, short":    "bedrock-api-key-" + random(60) + "/" + random(60),
	"google refresh":        "1//0" + random(99),
	"fly":                   "FlyV1 fm2_" + random(60) + "/" + random(60) + ",fo1_" + random(40),
	"fly, bare":             "fm2_" + random(60) + "/" + random(60) + "," + random(40),
	"entra":                 "abc8Q~" + random(34),
	"azure devops":          random(76) + "AZDO" + random(4),
	"terraform":             random(14) + ".atlasv1." + random(67),
	"airtable":              "pat" + random(14) + "." + strings.Repeat("a1", 32),
	"launchdarkly":          "sdk-123e4567-e89b-12d3-a456-" + strings.Repeat("4266", 3),
	"telegram":              "123456789:" + random(35),
	"telegram webhook":      "https://api.telegram.org/bot123456789:" + random(35) + "/sendMessage",
	"teams webhook":         "https://x.webhook.office.com/webhookb2/1",
}

var harmlessValues = map[string]string{
	"empty":               "",
	"short":               "sk-",
	"path":                "/usr/local/bin:/usr/bin:/bin",
	"words after sk-":     "sk-learn",
	"many words":          "sk-learn-2024-experiments-with-models-v1",
	"one long word":       "sk-learnexperimentswithoutdigits",
	"too short":           "ghp_" + random(10),
	"npm words":           "npm_config_registry_and_other_long_settings",
	"hf words":            "hf_transformers_cache_directory_2024",
	"aws, too long":       "AKIA" + "ABCDEFGHIJ2345678",
	"aws, a word":         "ASIA_PACIFIC_SOUTH_1",
	"google, too short":   "AIza" + random(30),
	"public stripe":       "pk_live_" + random(24),
	"a hash":              "0123456789abcdef0123456789abcdef01234567",
	"a uuid":              "123e4567-e89b-12d3-a456-426614174000",
	"certificate":         "-----BEGIN CERTIFICATE-----\nMII\n-----END CERTIFICATE-----\n",
	"public key":          "-----BEGIN PUBLIC KEY-----\nMII\n-----END PUBLIC KEY-----\n",
	"pgp public key":      "-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQ",
	"unfinished armor":    "-----BEGIN ",
	"url":                 "https://example.com:8080/a@b:c",
	"url, query":          "https://example.com?q=a:b@c",
	"url, user":           "ssh://git@example.com:22/a",
	"url, empty password": "ftp://anonymous:@example.com/",
	"url, sentry":         "https://0123456789abcdef0123456789abcdef@o1.ingest.sentry.io/1",
	"scp":                 "git@github.com:a/b.git",
	"bus":                 "unix:path=/run/user/1000/bus",
	"libpq, no password":  "host=h user=u",
	"a reference":         "read -r x; password=$x login",
	"LS_COLORS":           "rs=0:di=01;34:ln=01;36:pi=40;33:*.tar=01;31:*.pwd=01;31",
	"JAVA_OPTS":           "-Xmx1g -Dfile.encoding=UTF-8 -Dx=y",
	"basic words":         "basic configuration",
	"bearer words":        "bearer of 10 bad news",
	"two dots":            "eyJ.a.b, which is no token at all",
	"slack":               "https://hooks.slack.com/",
	"jwt header":          "eyJhbGciOiJIUzI1NiJ9",

	"certificate in base64": base64.StdEncoding.EncodeToString([]byte("-----BEGIN CERTIFICATE-----\nMII")),
	"begin in base64":       "LS0tLS1CRUdJTi",
	"dsn, no password":      "u@tcp(h:3306)/db",
	"dsn, empty password":   "u:@tcp(h:3306)/db",
	"dsn, no address":       "u:p@h",
	"dsn, no database":      "u:p@/",
	"an alias":              "a:b@/c d",
	"scp, with a port":      "u@h:22/a",
	"an image":              "r.example:5000/a@sha256:0123456789abcdef",
	"a scope":               "@a/b@1.2.3",
	"an action":             "actions/checkout@v4",
	"a package":             "npm:a/b@//",
	"an option, reference":  "mysql --password=$PASSWORD -h h",
	"another option":        "x --reset-password=1",
	"json, nothing":         `{"a":1,"password":null,"token":"","secret":{"type":"string"}}`,
	"json, references":      `{"password":"${PASSWORD}","token":"***","apiKey":"<key>"}`,
	"json, about secrets":   `{"tokenUrl":"https://h/t","apiKeyHeader":"x","maxTokens":"1","publicKey":"x"}`,
	"json, cut":             `{"password":`,
	"npmrc, reference":      "//r.example/:_authToken=${NPM_TOKEN}",
	"npmrc, setting":        "//r.example/:_other=1 /:_",
	"netrc, no password":    "machine h login u",
	"names of headers":      "Authorization, Content-Type",
	"an empty header":       "Authorization: ",
	"header, reference":     "Authorization: Bearer $TOKEN",
	"about headers":         "send authorization: when asked",
	"another header":        "X-Request-Id: 1",
	"a header of words":     "X-Api-Key: the key goes here",
	"a function of bash":    "() { local sig=9; kill -$sig; }",
	"a list of paths":       "/a:/b:/c/ghp_x:/d/e/f/g/h/i/j/k",
	"a list of words":       "sk-learn,numpy,scikit-image,pandas",
	"words and a colon":     "sk-learn-experiments:latest-version",
	"hash with 0x":          "0x" + strings.Repeat("a1", 32),
	"address":               "0x" + strings.Repeat("a1", 20),
	"fly's words":           "FlyV1 is a scheme for tokens, and this is a text about it",
	"one slash too many":    "1//0 is how a token begins",
	"bedrock's words":       "ABSK is how a token begins",
	"uuid after words":      "app-123e4567-e89b-12d3-a456-426614174000",
	"a time":                "12345678:2026-01-01T00:00:00.000000+00:00",
	"a host of teams":       "https://x.webhook.office.com/",
	"a host of telegram":    "https://api.telegram.org/",
}

func TestSecretValue(t *testing.T) {
	for name, value := range secretValues {
		require.True(t, envpolicy.IsSecret("X", value), "%s must go", name)
	}
	for name, value := range harmlessValues {
		require.False(t, envpolicy.IsSecret("X", value), "%s must stay", name)
	}
}

func TestSecretValueOfProxy(t *testing.T) {
	const value = "http://u:p@proxy.example:3128"
	for _, name := range []string{"HTTP_PROXY", "https_proxy", "ALL_PROXY", "npm_config_proxy", "proxy"} {
		require.False(t, envpolicy.IsSecret(name, value), name)
	}
	for _, name := range []string{"GOPROXY", "PROXY_URL", "X"} {
		require.True(t, envpolicy.IsSecret(name, value), name)
	}
	require.True(t, envpolicy.IsSecret("HTTP_PROXY", "ghp_"+random(36)), "any other secret goes")
}
