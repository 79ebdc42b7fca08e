package envpolicy_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
)

const (
	goes  = true
	stays = false
)

// realVariables are variables in the form that programs, build systems and
// services use, and the expected fate of each. TestSecretName has those whose name
// alone decides.
var realVariables = []struct {
	entry string
	goes  bool
	why   string
}{
	// Shells, terminals and desktops
	{"PWD=/home/u/src", stays, "the current directory"},
	{"ORIGINAL_PWD=/home/u", stays, "a directory by its name"},
	{"PROJECT_PWD=/home/u/src", stays, "a directory by its value"},
	{`CALLER_PWD=C:\src`, stays, "a directory by its value, on Windows"},
	{"KITTY_PUBLIC_KEY=1:abcdef", stays, "public"},
	{"XDG_SESSION_COOKIE=abc-123.456-789", stays, "an ID, in spite of its name"},
	{"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus", stays, "an address"},
	{"TERM_SESSION_ID=w0t0p0:8B0F3F4C-6A0B-4B8E-9A53-0E2B1C0D9F11", stays, "an ID"},
	{"LS_COLORS=di=01;34:*.tar=01;31:*.pwd=01;31", stays, "fields that are none"},
	{"LESSOPEN=| /usr/bin/lesspipe %s", stays, "a command"},
	{"PROMPT_COMMAND=token=$(date); pwd=$PWD", stays, "a script with references"},
	{"BASH_FUNC_stop%%=() {  local sig=TERM; kill -$sig $1\n}", stays, "a function of bash"},
	{"SUDO_PROMPT=[sudo] password for %p: ", stays, "a prompt"},
	{"DIRENV_DIFF=eJzTyXJyTSxLTEnMTU0FAAAA", stays, "no token"},
	{"INVOCATION_ID=0123456789abcdef0123456789abcdef", stays, "systemd's, an ID"},

	// Editors
	{`VSCODE_NLS_CONFIG={"locale":"en-us","availableLanguages":{}}`, stays, "JSON without a secret"},
	{"JUPYTERHUB_OAUTH_SCOPES=[\"access:servers!server=u/\"]", stays, "a list of rights"},

	// Git and its hosts
	{"GIT_AUTHOR_EMAIL=u@example.com", stays, "no URL"},
	{"GIT_SSH_COMMAND=ssh -i /home/u/.ssh/deploy_key", stays, "a command and a path"},
	{"GCM_CREDENTIAL_CACHE_OPTIONS=--timeout 300", stays, "options"},
	{"GIT_CONFIG_PARAMETERS='http.extraheader'='Authorization: Bearer abcdefgh'", goes, "a header in a list"},
	{"GIT_CONFIG_PARAMETERS='http.extraheader=AUTHORIZATION: basic abcdefgh'", goes, "the same as older versions have it"},
	{"GIT_CONFIG_PARAMETERS='url.https://u:t@example.com/.insteadof'='https://example.com/'", goes, "a password in a URL"},
	{"GIT_CONFIG_PARAMETERS='user.name'='A Person'", stays, "no secret"},
	{"GITHUB_TOKENS=a,b", goes, "tokens of a host, and not of a text"},

	// GitHub Actions
	{"ACTIONS_ID_TOKEN_REQUEST_URL=https://example.com/?api-version=2.0", stays, "where it is asked for"},
	{`GITHUB_CONTEXT={"token":"***","job":"build"}`, stays, "masked"},
	{`GITHUB_CONTEXT={"token":"abcdef","job":"build"}`, goes, "not masked"},
	{"GCP_SA_KEY=ewogIA", goes, "a service account's key"},

	// GitLab
	{"CI_REPOSITORY_URL=https://gitlab-ci-token:abc@gitlab.example/a/b.git", goes, "a password in a URL"},
	{"CI_COMMIT_MESSAGE=fix: token=abc is gone; ok", stays, "what people write"},

	// Jenkins
	{"JENKINS_URL=https://jenkins.example", stays, "a URL"},

	// CircleCI, Buildkite, Azure Pipelines
	{"BUILDKITE_PLUGINS=[{\"docker#v5\":{\"image\":\"x\"}}]", stays, "JSON without a secret"},
	{`VSS_NUGET_EXTERNAL_FEED_ENDPOINTS={"endpointCredentials":[{"endpoint":"https://x","username":"u","password":"abc"}]}`, goes, "a password in JSON"},

	// Clouds
	{"AWS_CREDENTIAL_EXPIRATION=2026-01-01T00:00:00Z", stays, "a time"},
	{"AWS_ROLE_ARN=arn:aws:iam::123456789012:role/x", stays, "a name"},
	{"IDENTITY_ENDPOINT=http://localhost:42356/msi/token", stays, "where it is asked for"},
	{"IDENTITY_HEADER=0123-abcd", goes, "what it is asked for with"},
	{"AzureWebJobsStorage=DefaultEndpointsProtocol=https;AccountName=a;AccountKey=b==", goes, "a key in a connection string"},
	{"ConnectionStrings__Default=Server=h;User Id=u;Password=p;", goes, "a password in a connection string"},
	{"APPLICATIONINSIGHTS_CONNECTION_STRING=InstrumentationKey=0123;IngestionEndpoint=https://x", stays, "in every page"},
	{`VCAP_SERVICES={"postgres":[{"credentials":{"host":"h","password":"abc"}}]}`, goes, "a password in JSON"},
	{"VAULT_ADDR=https://vault.example", stays, "a URL"},

	// Models
	{"OPENAI_BASE_URL=https://example.com/v1", stays, "a URL"},
	{"OPENAI_ORG_ID=org-abc", stays, "public"},
	{"EOS_TOKEN=<|endoftext|>", stays, "of a text"},

	// Frameworks
	{"NEXT_PUBLIC_SUPABASE_ANON_KEY=" + jwt(), stays, "in every page"},
	{"NEXT_PUBLIC_FIREBASE_API_KEY=AIza" + random(35), stays, "in every page"},
	{"NEXT_PUBLIC_STRIPE_PUBLISHABLE_KEY=pk_live_" + random(24), stays, "in every page"},
	{"NEXT_PUBLIC_OOPS=ghp_" + random(36), goes, "a mistake"},
	{"NEXT_PUBLIC_OOPS=-----BEGIN " + "PRIVATE KEY-----", goes, "a mistake"},
	{"VITE_DATABASE_URL=postgres://u:p@h/db", goes, "a mistake"},
	{"VITE_CLERK_PUBLISHABLE_KEY=pk_test_abc", stays, "in every page"},
	{"REACT_APP_GOOGLE_MAPS_API_KEY=AIza" + random(35), stays, "in every page"},
	{"SUPABASE_ANON_KEY=" + jwt(), stays, "made for browsers"},
	{"SUPABASE_SERVICE_ROLE_KEY=" + jwt(), goes, "made for servers"},
	{"SUPABASE_JWT=" + jwt(), goes, "a token"},
	{"STRIPE_PUBLISHABLE_KEY=pk_live_" + random(24), stays, "made for browsers"},
	{"API_KEY_HEADER=X-API-Key: abcdef", goes, "a header"},
	{"APP_KEY=base64:abc", goes, "Laravel's"},
	{"SENTRY_DSN=https://0123456789abcdef@o1.ingest.sentry.io/1", stays, "in every page"},
	{"tokenUrl=https://example.com/token", stays, "a URL, in camel case"},

	// Databases
	{"DATABASE_URL=postgres://u:p@h/db", goes, "a password in a URL"},
	{"DATABASE_URL=postgres://h/db", stays, "no password"},
	{"DATABASE_URL=sqlite:///tmp/x.db", stays, "no password"},
	{"MYSQL_DSN=user:pass@tcp(127.0.0.1:3306)/db?parseTime=true", goes, "a password in a data source name"},
	{"MYSQL_DSN=user:p@ss/w@unix(/tmp/mysql.sock)/db", goes, "with an @ and a slash in it"},
	{"DSN=root:pw@/db", goes, "as short as it can be"},
	{"DSN=user@tcp(127.0.0.1:3306)/db", stays, "no password"},
	{"DSN=user:@tcp(127.0.0.1:3306)/db", stays, "no password"},
	{"ORACLE_DSN=scott/tiger@//db.example:1521/orcl", goes, "as Oracle's tools take it"},
	{"MYSQL_PWD=/abc", goes, "one that begins like a path"},
	{"ORACLE_PWD=/abc+def=", goes, "one that begins like a path, and is none"},
	{"CONSUL_HTTP_AUTH=u:abc", goes, "a user and a password"},
	{"NEO4J_AUTH=neo4j/abc", goes, "a user and a password"},
	{"MONGODB_URI=mongodb+srv://u:p@h/db", goes, "a password in a URL"},

	// Packages and releases
	{"npm_config_registry=https://registry.npmjs.org/", stays, "a URL"},
	{"NPMRC=//registry.npmjs.org/:_authToken=abc", goes, "a line of an .npmrc"},
	{"NPMRC=//registry.npmjs.org/:_authToken=${NPM_TOKEN}", stays, "a line with a reference"},
	{"NETRC_DATA=machine example.com login u password abc", goes, "a line of a .netrc"},
	{"BUNDLE_RUBYGEMS__PKG__GITHUB__COM=user:ghp_" + random(36), goes, "a user and a token"},
	{"CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS=cargo:token", stays, "a setting"},
	{"PIP_INDEX_URL=https://u:p@example.com/simple", goes, "a password in a URL"},
	{"JAVA_OPTS=-Xmx1g -Djavax.net.ssl.trustStorePassword=changeit", stays, "what everybody has"},
	{"MYSQL_OPTS=-h db --password=abc", goes, "an option"},
	{"CURL_OPTS=-s -H 'Authorization: Bearer abcdef'", goes, "a header in options"},
	{"CURL_OPTS=-s -H 'Authorization: Bearer $TOKEN'", stays, "a reference"},
	{"CORS_ALLOW_HEADERS=Authorization, Content-Type", stays, "names of headers"},
	{"DOCKER_AUTH_CONFIG={}", goes, "Docker's logins"},
	{`DOCKER_CONFIG_JSON={"auths":{"ghcr.io":{"auth":"dTpw"}}}`, goes, "a login in JSON"},
	{"DOCKER_HOST=unix:///var/run/docker.sock", stays, "a socket"},
	{"DOCKER_IMAGE=registry.example:5000/app@sha256:0123456789abcdef", stays, "no password"},

	// Values that show what a name does not
	{"GH_TOKEN=", stays, "nothing is withheld"},
	{"USE_TOKEN_AUTH=true", stays, "a yes"},
	{"ENABLE_SECRETS=No", stays, "a no"},
	{"STRIPE_KEY=pk_test_" + random(24), stays, "made for browsers"},
	{"MAPBOX_ACCESS_TOKEN=pk.eyJ" + random(60), stays, "made for browsers"},
	{"MAPBOX_TOKEN=sk.eyJ" + random(60), goes, "not made for browsers"},
	{"SSH_PRIVATE_KEY=/home/u/.ssh/id_ed25519", stays, "where it is"},
	{"TLS_PRIVATE_KEY=C:/tls/key.pem", stays, "where it is, on Windows"},
	{"WG_PRIVATE_KEY=/" + random(42) + "=", goes, "base64 that begins like a path"},
	{"GOOGLE_CREDENTIALS=/home/u/sa.json", stays, "where they are"},
	{"GOOGLE_CREDENTIALS={}", goes, "what they are"},
	{"AWS_SECRET_ACCESS_KEY=/" + random(39), goes, "base64 that begins like a path"},

	// Settings of programs
	{`KAFKA_SASL_JAAS_CONFIG=a.b.PlainLoginModule required username="u" password="abc";`, goes, "a password in quotes"},
	{`SCRIPT=login password="$PASSWORD"`, stays, "a reference in quotes"},
	{"NIX_CONFIG=access-tokens = github.com=abc", goes, "a line of nix.conf"},
	{"NIX_CONFIG=experimental-features = nix-command flakes", stays, "a line of nix.conf"},
	{"TOKEN_REGEX=[a-z]+", stays, "what they are like"},

	// The network
	{"HTTPS_PROXY=http://u:p@proxy.example:3128", stays, "needed to reach anything"},
	{"HTTP_HEADER=Cookie: sid=abc", goes, "a cookie"},
	{"SLACK_URL=https://hooks.slack.com/triggers/T0/1/x", goes, "lets anyone post"},
	{"TEAMS_URL=https://x.webhook.office.com/webhookb2/0123", goes, "lets anyone post"},
	{"FEED=https://example.com/feed?token=abc", goes, "lets anyone in"},
	{"PRESIGNED=https://b.s3.amazonaws.com/k?X-Amz-Date=1&X-Amz-Signature=0123", goes, "lets anyone in"},
	{"BOT=123456789:" + random(35), goes, "a bot of Telegram"},

	// Block chains
	{"OWNER_PK=0x" + strings.Repeat("a1", 32), goes, "a private key"},
	{"KEY=0x" + strings.Repeat("a1", 32), goes, "a private key"},
	{"MINTER_KEY_1=0x" + strings.Repeat("a1", 32), goes, "a private key"},
	{"minterKey=0x" + strings.Repeat("a1", 32), goes, "a private key"},
	{"ANVIL_KEYS=0x" + strings.Repeat("a1", 32) + ",0x" + strings.Repeat("b2", 32), goes, "private keys"},
	{"TX=0x" + strings.Repeat("a1", 32), stays, "a transaction"},
	{"KEY_HASH=0x" + strings.Repeat("a1", 32), stays, "the hash of a key"},
	{"PUBLIC_KEY=0x" + strings.Repeat("a1", 32), stays, "public"},
	{"CACHE_KEY=0x" + strings.Repeat("a1", 32), stays, "a hash"},
	{"GENESIS=0x" + strings.Repeat("a1", 32), stays, "a block"},
	{"SUI_ADDRESS=0x" + strings.Repeat("a1", 32), stays, "an address"},
	{"OWNER=0x" + strings.Repeat("a1", 20), stays, "an address"},
	{"TOKEN_ADDRESS=0x" + strings.Repeat("a1", 20), stays, "an address"},
}

// jwt returns a JSON Web Token without a meaning.
func jwt() string { return "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoiYW5vbiJ9." + random(43) }

func TestRealVariables(t *testing.T) {
	policy := envpolicy.Policy{Interactive: true}
	for _, tt := range realVariables {
		name, _, _ := strings.Cut(tt.entry, "=")
		env, withheld := policy.ApplyOn("linux", []string{tt.entry})
		if tt.goes {
			require.Empty(t, env, "%s must go: %s", name, tt.why)
			require.Equal(t, []string{name}, withheld)
			continue
		}
		require.Equal(t, []string{tt.entry}, env, "%s must stay: %s", name, tt.why)
		require.Empty(t, withheld)
	}
}
