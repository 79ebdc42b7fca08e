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
// alone decides, and TestSecretValue those whose value does.
var realVariables = []struct {
	entry string
	goes  bool
	why   string
}{
	// Shells, git and what people write
	{"PWD=/home/u/src", stays, "the current directory"},
	{`CALLER_PWD=C:\src`, stays, "a directory by its value, on Windows"},
	{"SUDO_PROMPT=[sudo] password for %p: ", stays, "a prompt"},
	{"GIT_CONFIG_PARAMETERS='http.extraheader'='Authorization: Bearer abcdefgh'", goes, "a header in a list"},
	{"CI_COMMIT_MESSAGE=fix: token=abc is gone; ok", stays, "what people write"},

	// Frameworks
	{"NEXT_PUBLIC_SUPABASE_ANON_KEY=" + jwt(), stays, "in every page"},
	{"NEXT_PUBLIC_FIREBASE_API_KEY=AIza" + random(35), stays, "in every page"},
	{"REACT_APP_GOOGLE_MAPS_API_KEY=AIza" + random(35), stays, "in every page"},
	{"NEXT_PUBLIC_OOPS=ghp_" + random(36), goes, "a mistake"},
	{"VITE_DATABASE_URL=postgres://u:p@h/db", goes, "a mistake"},
	{"SUPABASE_ANON_KEY=" + jwt(), stays, "made for browsers"},
	{"API_KEY_HEADER=X-API-Key: abcdef", goes, "a header"},

	// Databases and options
	{"MYSQL_DSN=user:p@ss/w@unix(/tmp/mysql.sock)/db", goes, "with an @ and a slash in it"},
	{"MYSQL_PWD=/abc", goes, "one that begins like a path"},
	{"ORACLE_PWD=/abc+def=", goes, "one that begins like a path, and is none"},
	{"JAVA_OPTS=-Xmx1g -Djavax.net.ssl.trustStorePassword=changeit", stays, "what everybody has"},

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

	// The network
	{"SLACK_URL=https://hooks.slack.com/triggers/T0/1/x", goes, "lets anyone post"},
	{"FEED=https://example.com/feed?token=abc", goes, "lets anyone in"},
	{"PRESIGNED=https://b.s3.amazonaws.com/k?X-Amz-Date=1&X-Amz-Signature=0123", goes, "lets anyone in"},

	// Block chains
	{"OWNER_PK=0x" + strings.Repeat("a1", 32), goes, "a private key"},
	{"KEY=0x" + strings.Repeat("a1", 32), goes, "a private key"},
	{"MINTER_KEY_1=0x" + strings.Repeat("a1", 32), goes, "a private key"},
	{"minterKey=0x" + strings.Repeat("a1", 32), goes, "a private key"},
	{"ANVIL_KEYS=0x" + strings.Repeat("a1", 32) + ",0x" + strings.Repeat("b2", 32), goes, "private keys"},
	{"KEY_HASH=0x" + strings.Repeat("a1", 32), stays, "the hash of a key"},
	{"PUBLIC_KEY=0x" + strings.Repeat("a1", 32), stays, "public"},
	{"CACHE_KEY=0x" + strings.Repeat("a1", 32), stays, "a hash"},
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
