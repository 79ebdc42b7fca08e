package envpolicy_test

import (
	"slices"
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
// services use, and the expected fate of each.
var realVariables = []struct {
	entry string
	goes  bool
	why   string
}{
	// Shells, terminals and desktops
	{"PWD=/home/u/src", stays, "the current directory"},
	{"OLDPWD=/home/u", stays, "the one before"},
	{"ORIGINAL_PWD=/home/u", stays, "a directory by its name"},
	{"OLD_PWD=relative", stays, "a directory by its name, whatever it is"},
	{"PROJECT_PWD=/home/u/src", stays, "a directory by its value"},
	{`CALLER_PWD=C:\src`, stays, "a directory by its value, on Windows"},
	{"INIT_CWD=/home/u/src", stays, "npm's"},
	{"SSH_AUTH_SOCK=/run/user/1000/ssh", stays, "where the agent is"},
	{"SSH_AGENT_PID=123", stays, "a pid"},
	{"SSH_ASKPASS=/usr/bin/ksshaskpass", stays, "a program"},
	{"SUDO_ASKPASS=/usr/bin/x", stays, "a program"},
	{"GPG_KEY_ID=ABCDEF12", stays, "public"},
	{"GPG_KEY=E3FF2839C048B25C084DEBE9B26995E310250568", stays, "the fingerprint in Python's images"},
	{"GPG_TTY=/dev/pts/0", stays, "a terminal"},
	{"GNOME_KEYRING_CONTROL=/run/user/1000/keyring", stays, "a directory"},
	{"KEYBOARD_LAYOUT=de", stays, "a word, and no part of one"},
	{"KITTY_PUBLIC_KEY=1:abcdef", stays, "public"},
	{"KITTY_WINDOW_ID=1", stays, "a number"},
	{"XDG_SESSION_ID=2", stays, "a number"},
	{"XDG_SESSION_COOKIE=abc-123.456-789", stays, "an ID, in spite of its name"},
	{"DESKTOP_STARTUP_ID=gnome-1", stays, "an ID"},
	{"DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus", stays, "an address"},
	{"WINDOWPATH=2", stays, "a number"},
	{"TERM_SESSION_ID=w0t0p0:8B0F3F4C-6A0B-4B8E-9A53-0E2B1C0D9F11", stays, "an ID"},
	{"LS_COLORS=di=01;34:*.tar=01;31:*.pwd=01;31", stays, "fields that are none"},
	{"LESSOPEN=| /usr/bin/lesspipe %s", stays, "a command"},
	{"PROMPT_COMMAND=token=$(date); pwd=$PWD", stays, "a script with references"},
	{"BASH_FUNC_stop%%=() {  local sig=TERM; kill -$sig $1\n}", stays, "a function of bash"},
	{"SUDO_PROMPT=[sudo] password for %p: ", stays, "a prompt"},
	{"DIRENV_DIFF=eJzTyXJyTSxLTEnMTU0FAAAA", stays, "no token"},
	{"CREDENTIALS_DIRECTORY=/run/credentials/x.service", stays, "systemd's, a directory"},
	{"NSS_WRAPPER_PASSWD=/tmp/passwd", stays, "a file like /etc/passwd"},
	{"INVOCATION_ID=0123456789abcdef0123456789abcdef", stays, "systemd's, an ID"},
	{"HISTCONTROL=ignoreboth", stays, "a setting"},

	// Editors
	{"VSCODE_GIT_ASKPASS_NODE=/usr/share/code/code", stays, "a program"},
	{"VSCODE_GIT_ASKPASS_MAIN=/usr/share/code/askpass.js", stays, "a script"},
	{"VSCODE_GIT_IPC_HANDLE=/run/user/1000/vscode-git-1.sock", stays, "a socket"},
	{"VSCODE_IPC_HOOK=/run/user/1000/vscode.sock", stays, "a socket"},
	{`VSCODE_NLS_CONFIG={"locale":"en-us","availableLanguages":{}}`, stays, "JSON without a secret"},
	{"NVIM=/run/user/1000/nvim.1.0", stays, "a socket"},
	{"JPY_API_TOKEN=abc", goes, "of a notebook"},
	{"JUPYTERHUB_OAUTH_SCOPES=[\"access:servers!server=u/\"]", stays, "a list of rights"},
	{"JUPYTER_TOKEN=abc", goes, "of a notebook"},

	// Git and its hosts
	{"GIT_AUTHOR_EMAIL=u@example.com", stays, "no URL"},
	{"GIT_ASKPASS=/usr/bin/x", stays, "a program"},
	{"GIT_SSH_COMMAND=ssh -i /home/u/.ssh/deploy_key", stays, "a command and a path"},
	{"GCM_CREDENTIAL_STORE=cache", stays, "a setting"},
	{"GCM_CREDENTIAL_CACHE_OPTIONS=--timeout 300", stays, "options"},
	{"GIT_CREDENTIAL_HELPER=store", stays, "a setting"},
	{"GIT_CONFIG_PARAMETERS='http.extraheader'='Authorization: Bearer abcdefgh'", goes, "a header in a list"},
	{"GIT_CONFIG_PARAMETERS='http.extraheader=AUTHORIZATION: basic abcdefgh'", goes, "the same as older versions have it"},
	{"GIT_CONFIG_PARAMETERS='url.https://u:t@example.com/.insteadof'='https://example.com/'", goes, "a password in a URL"},
	{"GIT_CONFIG_PARAMETERS='user.name'='A Person'", stays, "no secret"},
	{"GITHUB_PAT=abc", goes, "a personal access token"},
	{"GH_PAT_2=abc", goes, "a second one"},
	{"GITHUB_TOKENS=a,b", goes, "tokens of a host, and not of a text"},
	{"GITHUB_APP_PRIVATE_KEY=abc", goes, "a private key"},
	{"GITHUB_APP_ID=12345", stays, "public"},
	{"GITLAB_KEY=abc", goes, "a key of a known host"},

	// GitHub Actions
	{"GITHUB_REPOSITORY=a/b", stays, "a name"},
	{"GITHUB_SHA=0123456789abcdef0123456789abcdef01234567", stays, "a commit"},
	{"GITHUB_REF=refs/heads/main", stays, "a branch"},
	{"GITHUB_OUTPUT=/home/runner/out", stays, "a file"},
	{"GITHUB_STEP_SUMMARY=/home/runner/sum", stays, "a file"},
	{"RUNNER_TEMP=/home/runner/tmp", stays, "a directory"},
	{"ACTIONS_RUNTIME_TOKEN=abc", goes, "of the run"},
	{"ACTIONS_ID_TOKEN_REQUEST_TOKEN=abc", goes, "what an identity is asked for with"},
	{"ACTIONS_ID_TOKEN_REQUEST_URL=https://example.com/?api-version=2.0", stays, "where it is asked for"},
	{"INPUT_GITHUB-TOKEN=abc", goes, "an input of an action"},
	{"INPUT_TOKEN=abc", goes, "an input of an action"},
	{`GITHUB_CONTEXT={"token":"***","job":"build"}`, stays, "masked"},
	{`GITHUB_CONTEXT={"token":"abcdef","job":"build"}`, goes, "not masked"},
	{"GCP_SA_KEY=ewogIA", goes, "a service account's key"},
	{"GOOGLE_GHA_CREDS_PATH=/home/runner/gha-creds.json", stays, "a file"},

	// GitLab
	{"CI_JOB_TOKEN=abc", goes, "of the job"},
	{"CI_JOB_ID=1", stays, "a number"},
	{"CI_REGISTRY_PASSWORD=abc", goes, "a password"},
	{"CI_REGISTRY_USER=gitlab-ci-token", stays, "a name"},
	{"CI_REPOSITORY_URL=https://gitlab-ci-token:abc@gitlab.example/a/b.git", goes, "a password in a URL"},
	{"CI_COMMIT_SHA=0123456789abcdef0123456789abcdef01234567", stays, "a commit"},
	{"CI_COMMIT_MESSAGE=fix: token=abc is gone; ok", stays, "what people write"},
	{"CI_SERVER_TLS_KEY_FILE=/builds/key", stays, "a file"},
	{"CI_DEPLOY_PASSWORD=abc", goes, "a password"},

	// Jenkins
	{"JENKINS_NODE_COOKIE=0123-abcd", stays, "Jenkins ends what has it"},
	{"JENKINS_SERVER_COOKIE=durable-0123", stays, "the same"},
	{"HUDSON_COOKIE=0123", stays, "the same, as it was called"},
	{"JENKINS_URL=https://jenkins.example", stays, "a URL"},
	{"JENKINS_API_TOKEN=abc", goes, "a token"},
	{"BUILD_TAG=jenkins-x-1", stays, "a name"},

	// CircleCI, Buildkite, Azure Pipelines
	{"CIRCLE_TOKEN=abc", goes, "a token"},
	{"CIRCLE_OIDC_TOKEN_V2=abc", goes, "an identity"},
	{"CIRCLE_SHA1=0123456789abcdef0123456789abcdef01234567", stays, "a commit"},
	{"GCLOUD_SERVICE_KEY=abc", goes, "a service account's key"},
	{"BUILDKITE_AGENT_ACCESS_TOKEN=abc", goes, "a token"},
	{"BUILDKITE_PLUGINS=[{\"docker#v5\":{\"image\":\"x\"}}]", stays, "JSON without a secret"},
	{"SYSTEM_ACCESSTOKEN=abc", goes, "of the job"},
	{"AZURE_DEVOPS_EXT_PAT=abc", goes, "a personal access token"},
	{`VSS_NUGET_EXTERNAL_FEED_ENDPOINTS={"endpointCredentials":[{"endpoint":"https://x","username":"u","password":"abc"}]}`, goes, "a password in JSON"},
	{"ENDPOINT_AUTH_SCHEME_SYSTEMVSSCONNECTION=OAuth", stays, "a kind"},
	{"AGENT_TOOLSDIRECTORY=/opt/hostedtoolcache", stays, "a directory"},
	{"BUILD_SOURCEVERSION=0123456789abcdef0123456789abcdef01234567", stays, "a commit"},

	// Clouds
	{"AWS_ACCESS_KEY_ID=abc", goes, "half of a pair"},
	{"AWS_SECRET_ACCESS_KEY=abc", goes, "the other half"},
	{"AWS_SESSION_TOKEN=abc", goes, "with it"},
	{"AWS_PROFILE=dev", stays, "a name"},
	{"AWS_REGION=eu-central-1", stays, "a place"},
	{"AWS_CREDENTIAL_EXPIRATION=2026-01-01T00:00:00Z", stays, "a time"},
	{"AWS_WEB_IDENTITY_TOKEN_FILE=/var/run/token", stays, "a file"},
	{"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI=/v2/credentials/x", stays, "where it is asked for"},
	{"AWS_CONTAINER_AUTHORIZATION_TOKEN=abc", goes, "what it is asked for with"},
	{"AWS_BEARER_TOKEN_BEDROCK=abc", goes, "a token"},
	{"AWS_ROLE_ARN=arn:aws:iam::123456789012:role/x", stays, "a name"},
	{"AWS_EC2_METADATA_DISABLED=true", stays, "a setting"},
	{"KMS_KEY_ID=alias/x", stays, "a name"},
	{"GOOGLE_APPLICATION_CREDENTIALS=/home/u/sa.json", stays, "a file"},
	{"GOOGLE_CLOUD_PROJECT=p", stays, "a name"},
	{"CLOUDSDK_AUTH_ACCESS_TOKEN=abc", goes, "a token"},
	{"GOOGLE_KEY=abc", goes, "a key of a known host"},
	{"AZURE_CLIENT_ID=123e4567-e89b-12d3-a456-426614174000", stays, "public"},
	{"AZURE_TENANT_ID=123e4567-e89b-12d3-a456-426614174000", stays, "public"},
	{"AZURE_CLIENT_SECRET=abc", goes, "a secret"},
	{"AZURE_FEDERATED_TOKEN_FILE=/var/run/token", stays, "a file"},
	{"AZURE_TOKEN_CREDENTIALS=dev", stays, "which of them to try"},
	{"IDENTITY_ENDPOINT=http://localhost:42356/msi/token", stays, "where it is asked for"},
	{"IDENTITY_HEADER=0123-abcd", goes, "what it is asked for with"},
	{"AzureWebJobsStorage=DefaultEndpointsProtocol=https;AccountName=a;AccountKey=b==", goes, "a key in a connection string"},
	{"ConnectionStrings__Default=Server=h;User Id=u;Password=p;", goes, "a password in a connection string"},
	{"APPLICATIONINSIGHTS_CONNECTION_STRING=InstrumentationKey=0123;IngestionEndpoint=https://x", stays, "in every page"},
	{"SPEECH_KEY=abc", goes, "as Azure's docs call it"},
	{"OCP_APIM_SUBSCRIPTION_KEY=abc", goes, "a subscription's"},
	{"CF_API_TOKEN=abc", goes, "a token"},
	{"CF_Key=abc", goes, "as acme.sh calls it"},
	{"CF_Account_ID=abc", stays, "public"},
	{"HEROKU_API_KEY=abc", goes, "a key"},
	{"HCLOUD_TOKEN=abc", goes, "a token"},
	{`VCAP_SERVICES={"postgres":[{"credentials":{"host":"h","password":"abc"}}]}`, goes, "a password in JSON"},
	{"KUBERNETES_SERVICE_HOST=10.0.0.1", stays, "an address"},
	{"KUBECONFIG=/home/u/.kube/config", stays, "a file"},
	{"HELM_KUBETOKEN=abc", goes, "a token"},
	{"SOPS_AGE_KEY=abc", goes, "a key"},
	{"SOPS_AGE_KEY_FILE=/home/u/keys.txt", stays, "a file"},
	{"VAULT_ADDR=https://vault.example", stays, "a URL"},
	{"VAULT_TOKEN=abc", goes, "a token"},
	{"SECRETS_MANAGER_REGION=eu", stays, "a place"},
	{"SECRET_STORE=vault", stays, "which one"},
	{"TF_VAR_db_password=abc", goes, "a password"},
	{"TF_VAR_dbPassword=abc", goes, "the same in camel case"},

	// Models
	{"OPENAI_API_KEY=abc", goes, "a key"},
	{"openaiApiKey=abc", goes, "the same in camel case"},
	{"OPENAI_API_KEY2=abc", goes, "a second one"},
	{"OpenAIKey=abc", goes, "an acronym in camel case"},
	{"openAIKey=abc", goes, "an acronym in camel case"},
	{"OPENAIApiKey=abc", goes, "an acronym before a word"},
	{"OPENAI_BASE_URL=https://example.com/v1", stays, "a URL"},
	{"OPENAI_ORG_ID=org-abc", stays, "public"},
	{"ANTHROPIC_AUTH_TOKEN=abc", goes, "a token"},
	{"ANTHROPIC_MODEL=claude", stays, "a name"},
	{"MISTRAL_KEY=abc", goes, "a key of a known host"},
	{"GROQ_KEY=abc", goes, "a key of a known host"},
	{"DEEPSEEK_KEY=abc", goes, "a key of a known host"},
	{"MAX_TOKENS=4096", stays, "of a text"},
	{"maxTokens=4096", stays, "of a text"},
	{"TOKENS=4096", stays, "of a text"},
	{"TOKENIZERS_PARALLELISM=false", stays, "of a text"},
	{"EOS_TOKEN=<|endoftext|>", stays, "of a text"},
	{"TIKTOKEN_CACHE_DIR=/tmp/x", stays, "a directory"},
	{"HF_TOKEN=abc", goes, "a token"},
	{"HF_HOME=/home/u/.cache/huggingface", stays, "a directory"},
	{"LANGSMITH_TRACING=true", stays, "a setting"},

	// Frameworks
	{"NEXT_PUBLIC_API_KEY=abc", stays, "in every page"},
	{"NEXT_PUBLIC_SUPABASE_ANON_KEY=" + jwt(), stays, "in every page"},
	{"NEXT_PUBLIC_FIREBASE_API_KEY=AIza" + random(35), stays, "in every page"},
	{"NEXT_PUBLIC_STRIPE_PUBLISHABLE_KEY=pk_live_" + random(24), stays, "in every page"},
	{"NEXT_PUBLIC_OOPS=ghp_" + random(36), goes, "a mistake"},
	{"NEXT_PUBLIC_OOPS=-----BEGIN " + "PRIVATE KEY-----", goes, "a mistake"},
	{"VITE_DATABASE_URL=postgres://u:p@h/db", goes, "a mistake"},
	{"VITE_API_TOKEN=abc", stays, "in every page"},
	{"VITE_CLERK_PUBLISHABLE_KEY=pk_test_abc", stays, "in every page"},
	{"REACT_APP_SECRET=abc", stays, "in every page"},
	{"REACT_APP_GOOGLE_MAPS_API_KEY=AIza" + random(35), stays, "in every page"},
	{"EXPO_PUBLIC_API_KEY=abc", stays, "in every app"},
	{"EXPO_TOKEN=abc", goes, "not public"},
	{"NUXT_PUBLIC_TOKEN=abc", stays, "in every page"},
	{"NUXT_API_SECRET=abc", goes, "the server's"},
	{"VUE_APP_API_KEY=abc", stays, "in every page"},
	{"GATSBY_ALGOLIA_API_KEY=abc", stays, "in every page"},
	{"PUBLIC_POSTHOG_API_KEY=abc", stays, "in every page"},
	{"STORYBOOK_API_KEY=abc", stays, "in every page"},
	{"SUPABASE_ANON_KEY=" + jwt(), stays, "made for browsers"},
	{"SUPABASE_SERVICE_ROLE_KEY=" + jwt(), goes, "made for servers"},
	{"SUPABASE_JWT=" + jwt(), goes, "a token"},
	{"STRIPE_PUBLISHABLE_KEY=pk_live_" + random(24), stays, "made for browsers"},
	{"STRIPE_KEY=abc", goes, "a key of a known host"},
	{"API_KEY_HEADER=X-API-Key", stays, "the name of a header"},
	{"API_KEY_HEADER=X-API-Key: abcdef", goes, "a header"},
	{"AUTH_TOKEN_HEADER=X-Auth", stays, "the name of a header"},
	{"CSRF_COOKIE=csrftoken", stays, "the name of a cookie"},
	{"XSRF_COOKIE=XSRF-TOKEN", stays, "the name of a cookie"},
	{"SESSION_COOKIE_SECURE=true", stays, "a setting"},
	{"SESSION_COOKIE_NAME=sid", stays, "a name"},
	{"SESSION_COOKIE=abc", goes, "a cookie, as likely as its name"},
	{"RELEASE_COOKIE=abc", goes, "Erlang's, which lets anyone in"},
	{"SECRET_KEY_BASE=abc", goes, "Rails'"},
	{"RAILS_MASTER_KEY=abc", goes, "Rails'"},
	{"APP_KEY=base64:abc", goes, "Laravel's"},
	{"DJANGO_SETTINGS_MODULE=x.settings", stays, "a name"},
	{"ACCESS_TOKEN_EXPIRE_MINUTES=30", stays, "a time"},
	{"ACCESS_TOKEN_EXPIRES_IN=30", stays, "a time"},
	{"JWT_SECRET=abc", goes, "a secret"},
	{"JWT_EXPIRES_IN=7d", stays, "a time"},
	{"JWT_ISSUER=x", stays, "a name"},
	{"TOKEN_ISSUER=x", stays, "a name"},
	{"OAUTH_TOKEN_ENDPOINT_AUTH_METHOD=client_secret_basic", stays, "a method"},
	{"PASSWORD_MIN_LENGTH=12", stays, "a number"},
	{"SENTRY_DSN=https://0123456789abcdef@o1.ingest.sentry.io/1", stays, "in every page"},
	{"SENTRY_AUTH_TOKEN=abc", goes, "a token"},
	{"LAUNCHDARKLY_SDK_KEY=abc", goes, "a server's"},
	{"SPRING_DATASOURCE_PASSWORD=abc", goes, "a password"},
	{"spring.datasource.password=abc", goes, "the same as a property"},
	{"dbPassword=abc", goes, "camel case"},
	{"XApiKey=abc", goes, "camel case"},
	{"X-Api-Key=abc", goes, "a header's name"},
	{"GitHubToken=abc", goes, "camel case"},
	{"OAuthToken=abc", goes, "camel case"},
	{"clientSecret=abc", goes, "camel case"},
	{"passwordFile=/run/secrets/x", stays, "a file, in camel case"},
	{"tokenUrl=https://example.com/token", stays, "a URL, in camel case"},
	{"publicKey=abc", stays, "public, in camel case"},

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
	{"MYSQL_PWD=abc", goes, "a password"},
	{"MYSQL_PWD=/abc", goes, "one that begins like a path"},
	{"ORACLE_PWD=abc", goes, "a password"},
	{"ORACLE_PWD=/abc+def=", goes, "one that begins like a path, and is none"},
	{"MSSQL_SA_PASSWORD=abc", goes, "a password"},
	{"MYSQL_ALLOW_EMPTY_PASSWORD_POLICY=x", stays, "a setting"},
	{"DB_PW=abc", goes, "a password"},
	{"PW=abc", goes, "a password"},
	{"adminPw=abc", goes, "camel case"},
	{"PGPASSWORD=abc", goes, "libpq's"},
	{"PGPASSFILE=/home/u/.pgpass", stays, "a file"},
	{"PGHOST=db.example", stays, "a host"},
	{"REDIS_AUTH=abc", goes, "what AUTH takes"},
	{"REDISCLI_AUTH=abc", goes, "what AUTH takes"},
	{"CONSUL_HTTP_AUTH=u:abc", goes, "a user and a password"},
	{"dbpwd=abc", goes, "a password"},
	{"NEO4J_AUTH=neo4j/abc", goes, "a user and a password"},
	{"MONGODB_URI=mongodb+srv://u:p@h/db", goes, "a password in a URL"},
	{"RABBITMQ_DEFAULT_PASS=abc", goes, "a password"},
	{"COSMOS_KEY=abc", goes, "a key of a known host"},

	// Packages and releases
	{"NPM_TOKEN=abc", goes, "a token"},
	{"npm_config_registry=https://registry.npmjs.org/", stays, "a URL"},
	{"npm_config_//registry.npmjs.org/:_authToken=abc", goes, "a token"},
	{"NPMRC=//registry.npmjs.org/:_authToken=abc", goes, "a line of an .npmrc"},
	{"NPMRC=//registry.npmjs.org/:_authToken=${NPM_TOKEN}", stays, "a line with a reference"},
	{"NETRC_DATA=machine example.com login u password abc", goes, "a line of a .netrc"},
	{"BUNDLE_RUBYGEMS__PKG__GITHUB__COM=user:ghp_" + random(36), goes, "a user and a token"},
	{"CARGO_REGISTRY_TOKEN=abc", goes, "a token"},
	{"CARGO_REGISTRY_GLOBAL_CREDENTIAL_PROVIDERS=cargo:token", stays, "a setting"},
	{"POETRY_HTTP_BASIC_X_PASSWORD=abc", goes, "a password"},
	{"TWINE_PASSWORD=abc", goes, "a password"},
	{"UV_INDEX_X_PASSWORD=abc", goes, "a password"},
	{"PIP_INDEX_URL=https://u:p@example.com/simple", goes, "a password in a URL"},
	{"VSCE_PAT=abc", goes, "a personal access token"},
	{"ORG_GRADLE_PROJECT_signingInMemoryKey=abc", goes, "a key"},
	{"ORG_GRADLE_PROJECT_signingKeyId=ABCDEF12", stays, "public"},
	{"ORG_GRADLE_PROJECT_mavenCentralPassword=abc", goes, "a password in camel case"},
	{"APP_STORE_CONNECT_API_KEY_ISSUER_ID=0123", stays, "public"},
	{"APP_STORE_CONNECT_API_KEY_KEY=abc", goes, "a key"},
	{"JAVA_OPTS=-Xmx1g -Djavax.net.ssl.trustStorePassword=changeit", stays, "what everybody has"},
	{"MYSQL_OPTS=-h db --password=abc", goes, "an option"},
	{"CURL_OPTS=-s -H 'Authorization: Bearer abcdef'", goes, "a header in options"},
	{"CURL_OPTS=-s -H 'Authorization: Bearer $TOKEN'", stays, "a reference"},
	{"CORS_ALLOW_HEADERS=Authorization, Content-Type", stays, "names of headers"},
	{"DOCKER_AUTH_CONFIG={}", goes, "Docker's logins"},
	{`DOCKER_CONFIG_JSON={"auths":{"ghcr.io":{"auth":"dTpw"}}}`, goes, "a login in JSON"},
	{"DOCKER_HOST=unix:///var/run/docker.sock", stays, "a socket"},
	{"DOCKER_IMAGE=registry.example:5000/app@sha256:0123456789abcdef", stays, "no password"},
	{"COSIGN_PASSWORD=abc", goes, "a password"},
	{"ANSIBLE_VAULT_PASSWORD_FILE=/home/u/.vault", stays, "a file"},
	{"ANSIBLE_BECOME_ASK_PASS=1", stays, "a yes"},
	{"ANSIBLE_BECOME_PASS=abc", goes, "a password"},
	{"P4PASSWD=abc", goes, "a password, after a digit"},

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

	// Password managers and sessions
	{"OP_SESSION_my=abc", goes, "1Password's"},
	{"BW_SESSION=abc", goes, "Bitwarden's"},
	{"FASTLANE_SESSION=abc", goes, "Apple's cookies"},
	{"STARSHIP_SESSION_KEY=1234567890123456", stays, "the name of a log"},
	{"ATUIN_SESSION=0190f3c4d5e67890abcdef0123456789", stays, "an ID"},
	{"PASSWORD_STORE_DIR=/home/u/.password-store", stays, "a directory"},
	{"PASSWORD_STORE_KEY=ABCDEF12", stays, "public"},

	// Settings of programs
	{"Jwt__Key=abc", goes, "ASP.NET's way to write Jwt:Key"},
	{"Authentication__Google__ClientSecret=abc", goes, "ASP.NET's, in camel case"},
	{`KAFKA_SASL_JAAS_CONFIG=a.b.PlainLoginModule required username="u" password="abc";`, goes, "a password in quotes"},
	{`SCRIPT=login password="$PASSWORD"`, stays, "a reference in quotes"},
	{"NIX_CONFIG=access-tokens = github.com=abc", goes, "a line of nix.conf"},
	{"NIX_CONFIG=experimental-features = nix-command flakes", stays, "a line of nix.conf"},
	{"TOKEN_BUCKET_RATE=10", stays, "a limiter's"},
	{"TOKEN_REGEX=[a-z]+", stays, "what they are like"},
	{"TOKEN_LIFETIME_MS=1000", stays, "a time"},
	{"EXTERNAL_SECRETS_NAMESPACE=x", stays, "a name"},
	{"PUSHER_APP_KEY=abc", stays, "made for browsers"},
	{"PUSHER_APP_SECRET=abc", goes, "a secret"},

	// The network
	{"HTTPS_PROXY=http://u:p@proxy.example:3128", stays, "needed to reach anything"},
	{"no_proxy=localhost", stays, "needed to reach anything"},
	{"HTTP_HEADER=Cookie: sid=abc", goes, "a cookie"},
	{"SLACK_URL=https://hooks.slack.com/triggers/T0/1/x", goes, "lets anyone post"},
	{"TEAMS_URL=https://x.webhook.office.com/webhookb2/0123", goes, "lets anyone post"},
	{"FEED=https://example.com/feed?token=abc", goes, "lets anyone in"},
	{"PRESIGNED=https://b.s3.amazonaws.com/k?X-Amz-Date=1&X-Amz-Signature=0123", goes, "lets anyone in"},
	{"BOT=123456789:" + random(35), goes, "a bot of Telegram"},

	// Block chains
	{"WALLET_KEY=abc", goes, "a wallet's key"},
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
	{"REWARD_TOKEN=0x" + strings.Repeat("a1", 20), stays, "a contract"},
	{"REWARD_TOKEN=0x" + strings.Repeat("a1", 21), goes, "no address"},
	{"SECRET_TOKEN=0x" + strings.Repeat("a1", 20), goes, "no contract"},
	{"TOKEN_ADDRESS=0x" + strings.Repeat("a1", 20), stays, "an address"},
	{"TOKEN_SYMBOL=ABC", stays, "a name"},
	{"MNEMONIC=abc", goes, "a wallet's words"},
	{"INFURA_KEY=abc", goes, "a key of a known host"},
}

// jwt returns a JSON Web Token without a meaning.
func jwt() string { return "eyJhbGciOiJIUzI1NiJ9.eyJyb2xlIjoiYW5vbiJ9." + random(43) }

func TestRealVariables(t *testing.T) {
	policy := envpolicy.Policy{Interactive: true}
	for _, tt := range realVariables {
		name, _, _ := strings.Cut(tt.entry, "=")
		env, report := policy.ApplyOn("linux", []string{tt.entry}, nil)
		if tt.goes {
			require.Empty(t, env, "%s must go: %s", name, tt.why)
			require.Equal(t, []string{name}, report.Withheld)
			continue
		}
		require.Equal(t, []string{tt.entry}, env, "%s must stay: %s", name, tt.why)
		require.Empty(t, report)
	}
}

// Each variable and value has one row. A second row would test nothing.
func TestRealVariablesOnce(t *testing.T) {
	var entries []string
	for _, tt := range realVariables {
		require.NotEmpty(t, tt.why, tt.entry)
		entries = append(entries, tt.entry)
	}
	slices.Sort(entries)
	require.Len(t, slices.Compact(slices.Clone(entries)), len(entries))
}
