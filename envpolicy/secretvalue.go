package envpolicy

import (
	"regexp"
	"strings"
	"sync"
)

// secretValue reports whether the value of a variable is plainly a secret. The
// name matters in three cases. Commands need a proxy to reach the network, and a
// password in its URL is only for the proxy. A variable that goes to every
// browser may have a token that browsers get. And some values are keys only if
// the name says so.
func secretValue(name, value string) bool {
	if len(value) < len("u:p@/d") { // the shortest secret
		return false
	}
	if token := tokenIn(value); token != "" && !(browserToken.MatchString(token) && hasAny(strings.ToUpper(name), publicBegins, publicEnds)) {
		return true
	}
	low := strings.ToLower(value)
	for _, form := range secretForms() {
		if strings.Contains(low, form.part) && form.expr.MatchString(low) &&
			!(form.part == "://" && strings.HasSuffix("_"+strings.ToUpper(name), "_PROXY")) {
			return true
		}
	}
	// A header or a JSON field with the name of a secret.
	if header := secretHeader.FindStringSubmatch(low); header != nil && secretName(header[1], "x") {
		return true
	}
	if strings.Contains(value, `"`) {
		for _, field := range secretField.FindAllStringSubmatch(value, -1) {
			if field[1] == "auth" || secretName(field[1], "x") {
				return true
			}
		}
	}
	return hexKey.MatchString(value) && isKeyName(name)
}

// secret matches the first byte of a secret. $TOKEN, %TOKEN%, {{token}}, <token>,
// *** and quotations of these are placeholders.
const secret = "[^\\s;&$\"'`{<*%\\\\]"

// A secretForm is a form of values in lower case that are or contain secrets.
type secretForm struct {
	part string // which each such value contains, because this search is much faster
	expr *regexp.Regexp
}

var secretForms = sync.OnceValue(func() []secretForm {
	const (
		colon = `["'\\ ]*[:=]["'\\ ]*`
		user  = `^[\w.+-]+`
	)
	rows := [][2]string{
		{"private key", `-----begin [a-z0-9 ]*private key`}, // PEM (RFC 7468), OpenSSH, OpenPGP (RFC 9580)
		{"putty-user-key", `^putty-user-key-file-`},
		// A URL, also within another scheme, as with JDBC. People forget to escape an @ in
		// their password.
		{"://", `://[^\s/?#"'<>\\:@]*:[^\s/?#"'<>\\]*[^\s/?#"'<>\\@]@`},
		// Data source names of Go drivers for MySQL, and of Oracle's tools.
		{"@", user + `:[^@].*@(?:[\w.+-]+\(.*\)/|/[\w.+-]+(?:\?|$))`},
		{"@//", user + `/[^@].*@//`},
		{"machine ", `^machine (?s:.*)\spassword\s`},
		{"/:_", `/:_(?:auth|authtoken|password)=` + secret}, // .npmrc
		{"access-tokens = ", `access-tokens = .*=`},         // nix.conf
		{"authorization", `authorization` + colon + `(?:basic|bearer|digest|token) +` + secret},
		{"authorization", `^authorization` + colon + `(?:\S+ +)?` + secret + `\S*$`},
		// Neither "basic configuration" nor "bearer of 10 bad news" is a secret.
		{"bearer ", `^bearer (?:\S{8,}[0-9=]\S*|\S*[0-9=]\S{8,})$`},
		{"basic ", `^basic (?:\S{8,}[0-9=]\S*|\S*[0-9=]\S{8,})$`},
		{"cookie:", `^(?:set-)?cookie: *[^=;\s]+=`},
		// URLs that let anybody who knows them post.
		{"https://", `^https://(?:(?:canary\.|ptb\.)?discord(?:app)?\.com/api/webhooks/|hooks\.slack\.com/(?:services|triggers|workflows)/` +
			`|hooks\.zapier\.com/hooks/catch/|api\.telegram\.org/bot|[^/]*\.webhook\.office\.com/webhookb2/).`},
	}
	// The names of a password in the connection strings of databases (libpq, ODBC, ADO.NET,
	// JDBC) and of Azure, in options, and in the query of a URL.
	for name := range strings.FieldsSeq(`
		password passwd pwd accountkey sharedaccesskey access_token auth_token api_key apikey client_secret
		x-amz-signature x-goog-signature
	`) {
		rows = append(rows, [2]string{name + "=", `(?:^|[;&?\s])(?:--)?` + name + `=["']?` + secret})
	}
	for _, name := range []string{"sig", "token"} { // people write of tokens, so a space before it doesn't count
		rows = append(rows, [2]string{name + "=", `[;&?]` + name + `=` + secret})
	}
	forms := make([]secretForm, len(rows))
	for i, row := range rows {
		forms[i] = secretForm{row[0], regexp.MustCompile(row[1])}
	}
	return forms
})

var (
	secretHeader = regexp.MustCompile(`^([a-z0-9]+-[a-z0-9-]*): *` + secret + `\S*$`)
	secretField  = regexp.MustCompile(`"([\w.-]+)"\s*:\s*"` + secret)
	// hexKey matches 32 bytes, or a list of such values: the private key of an account of
	// Ethereum or a similar chain. Hashes look the same.
	hexKey = regexp.MustCompile(`^0x[0-9A-Fa-f]{64}(?:,|$)`)
)

// isKeyName reports whether a name says that its value is a key, and not a public
// key or a hash of a key: WALLET_KEY, OWNER_PK, but not KEY_HASH.
func isKeyName(name string) bool {
	w := append([]string{""}, words(name, true)...)
	switch last := len(w) - 1; w[last] {
	case "PK", "SK", "PRIV", "PRIVATE", "SEED":
		return true
	case "KEY", "KEYS":
		return w[last-1] != "PUBLIC" && w[last-1] != "PUB" && w[last-1] != "CACHE"
	}
	return false
}

// minToken is the length of the shortest tokens.
const minToken = 20

// tokenIn returns the first token of a known form in a value, or "". A token may
// stand between other things: after a user name, in a URL, in a list or in JSON.
func tokenIn(value string) string {
	if len(value) < minToken {
		return ""
	}
	if whole := strings.Trim(value, "\"' \t\r\n"); longToken().MatchString(whole) {
		return whole
	}
	for from := 0; from < len(value); from++ {
		to := from
		for to < len(value) && isTokenByte[value[to]] {
			to++
		}
		if field := value[from:to]; len(field) >= minToken && isToken(field) {
			return field
		}
		from = to
	}
	return ""
}

// isTokenByte is about the bytes of most tokens. A = only ends them.
var isTokenByte = func() (is [256]bool) {
	for c := range is {
		b := byte(c)
		is[c] = isLower(b|0x20) || isDigit(b) || strings.IndexByte("-._~+", b) >= 0
	}
	return is
}()

// isToken reports whether a text of token bytes is a token.
func isToken(s string) bool {
	for _, prefix := range tokenPrefixes {
		if len(s) >= len(prefix)+minToken && strings.HasPrefix(s, prefix) {
			return true
		}
	}
	for _, prefix := range randomPrefixes {
		if len(s) >= len(prefix)+minToken && strings.HasPrefix(s, prefix) && looksRandom(s[len(prefix):]) {
			return true
		}
	}
	return token().MatchString(s)
}

// looksRandom reports whether s has 12 letters and digits in a row, with some
// of each. Words that people write have hyphens between them, and no digits in
// them: sk-learn-2024-experiments, npm_config_registry.
func looksRandom(s string) bool {
	run, letters, digits := 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case isDigit(c):
			digits++
		case isLower(c | 0x20):
			letters++
		default:
			run, letters, digits = 0, 0, 0
			continue
		}
		if run++; run >= 12 && letters > 0 && digits > 0 {
			return true
		}
	}
	return false
}

// tokenPrefixes are prefixes that services give their secret tokens so that
// scanners find them. The sources are the documents of those services.
var tokenPrefixes = strings.Fields(`
	AGE-SECRET-KEY-1 AGE-SECRET-KEY-PQ-1 ATATT3 ATCTT3 CCIPAT_ CCIPRJ_ CFPAT- dckr_oat_ dckr_pat_ doo_v1_
	dop_v1_ dor_v1_ figd_ gho_ ghp_ ghr_ ghs_ ghu_ github_pat_ glagent- glcbt- gldt- glffct- glft- glimt- gloas-
	glpat- glptt- glrt- glrtr- glsoat- glwt- GOCSPX- HRKU- NRAK- PMAK- pscale_oauth_ pscale_pw_ pscale_tkn_
	sb_secret_ shpat_ shpca_ shppa_ shpss_ shpua_ sk-admin- sk-ant- sk-or-v1- sk-proj- sk-svcacct- sk.eyJ
	sntrys_ sntryu_ sq0atp- sq0csp- xapp- xoxa- xoxb- xoxc- xoxd- xoxe- xoxe.xoxb- xoxe.xoxp- xoxo- xoxp- xoxr-
	xoxs- xwfp- ya29.
`)

// randomPrefixes are more of them, with which other words begin too.
var randomPrefixes = strings.Fields(`
	access-production- access-sandbox- AKCp api_org_ AQ.A ATBB ATTA bb_live_ bkua_ cfat_ cfk_ cfut_ cio
	cmVmdGtuO csk- dapi dbtc_ dbtu_ ddp_ dose dp. e2b_ EAAA EAAC fc- fw_ glc_ glsa_ GR1348941 gsk_ hf_ hvb. hvr.
	hvs. jina_ key- lin_api_ lin_oauth_ lsv2_pt_ lsv2_sk_ mlsn. napi_ nfp_ npm_ nsec1 ntn_ nvapi- ops_eyJ oy2
	pat-eu1- pat-na1- pcsk_ phx_ pnu_ pplx- pul- pypi- r8_ re_ rk_live_ rk_test_ rnd_ rpa_ rubygems_ sbp_
	secret_ sha256~ sk- sk_ sl. snyk_sat. snyk_uat. sqa_ sqp_ squ_ tfp_ tgp_v1_ tskey- tvly- vca_ vci_ vck_ vcp_
	vcr_ whsec_ xai- xkeysib- xprv
`)

// A JSON Web Token (RFC 7519) or another signed token (RFC 7515) has three parts, and
// an encrypted one (RFC 7516) five. The first one is an object and begins with {".
const (
	jwt       = `eyJ[\w-]{13,}\.[\w-]{2,}(?:\.[\w-]*\.[\w-]*)?\.[\w-]{16,}`
	googleKey = `AIza[\w-]{35}`
)

// browserToken matches tokens that web pages have as well. There, a JSON Web Token says
// that a visitor is anonymous, and a key of Google is bound to the address of the page.
var browserToken = regexp.MustCompile(`^(?:` + jwt + `|` + googleKey + `)$`)

// token matches tokens that have more of a form than a prefix.
var token = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:` + strings.Join([]string{
		jwt,
		googleKey,
		`(?:AKIA|ASIA)[A-Z0-9]{16}`, // AWS
		`SG\.[\w-]{22}\.[\w-]{43}`,  // SendGrid
		`pat\w{14}\.[0-9a-f]{64}`,   // Airtable
		`(?:sdk|api)-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}`, // LaunchDarkly
		`\w{3}[0-9]Q~[\w.~-]{34}`,                                 // Entra ID
		`\w{76}AZDO\w{4}`,                                         // Azure DevOps
		`\w{14}\.atlasv1\.[\w-]{57,}`,                             // HCP Terraform
	}, "|") + `)$`)
})

// longToken matches whole values that have bytes that other tokens do not have.
var longToken = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:` + strings.Join([]string{
		`LS0tLS1CRUdJTi[\w+/]*(?:UFJJVkFURSBLRV|BSSVZBVEUgS0VZ|QUklWQVRFIEtFW)(?s:.*)`, // a private key, in base64
		`[0-9]{8,10}:[\w-]{35}`,                          // Telegram
		`1//0[\w-]{60,}`,                                 // Google, for refreshing
		`(?:ABSK|bedrock-api-key-)[\w+/=-]{100,}`,        // Bedrock
		`(?:FlyV1 )?(?:fm1[ar]?|fm2|fo1)_[\w+/=,-]{40,}`, // Fly.io
	}, "|") + `)$`)
})
