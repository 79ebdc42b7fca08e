package envpolicy

import "strings"

// A tokenForm is how the tokens of one service look.
type tokenForm struct {
	prefix string
	length int  // of what follows the prefix, at least; in bytes
	random bool // what follows must look random, since other words begin like this
}

// tokenForms has the prefixes that services give their secret tokens so that
// scanners find them, from what those services document. Lengths are those of
// the shortest tokens in use, or somewhat less where they vary.
var tokenForms = []tokenForm{
	{"AGE-SECRET-KEY-1", 58, false}, // age
	{"ATATT3", 60, false},           // Atlassian
	{"CCIPAT_", 30, false},          // CircleCI
	{"EAAC", 100, true},             // Meta
	{"GOCSPX-", 28, false},          // a client secret of Google
	{"HRKU-", 36, false},            // Heroku
	{"NRAK-", 27, false},            // New Relic
	{"PMAK-", 40, false},            // Postman
	{"bkua_", 40, true},             // Buildkite
	{"dapi", 32, true},              // Databricks
	{"dckr_pat_", 20, false},        // Docker
	{"doo_v1_", 64, false},          // DigitalOcean
	{"dop_v1_", 64, false},          // DigitalOcean
	{"dor_v1_", 64, false},          // DigitalOcean
	{"dp.", 40, true},               // Doppler
	{"figd_", 40, false},            // Figma
	{"gho_", 36, false},             // GitHub
	{"ghp_", 36, false},             // GitHub
	{"ghr_", 36, false},             // GitHub
	{"ghs_", 36, false},             // GitHub
	{"ghu_", 36, false},             // GitHub
	{"github_pat_", 22, false},      // GitHub
	{"glc_", 40, true},              // Grafana
	{"glcbt-", 20, false},           // GitLab
	{"gldt-", 20, false},            // GitLab
	{"glpat-", 20, false},           // GitLab
	{"glptt-", 20, false},           // GitLab
	{"glrt-", 20, false},            // GitLab
	{"glsa_", 40, true},             // Grafana
	{"gsk_", 40, true},              // Groq
	{"hf_", 30, true},               // Hugging Face
	{"hvb.", 24, true},              // Vault
	{"hvs.", 24, true},              // Vault
	{"lin_api_", 32, true},          // Linear
	{"nfp_", 32, true},              // Netlify
	{"npm_", 36, true},              // npm
	{"ntn_", 40, true},              // Notion
	{"nvapi-", 60, true},            // NVIDIA
	{"pplx-", 40, true},             // Perplexity
	{"pscale_pw_", 32, false},       // PlanetScale
	{"pscale_tkn_", 32, false},      // PlanetScale
	{"pul-", 40, true},              // Pulumi
	{"pypi-", 50, true},             // PyPI
	{"r8_", 37, true},               // Replicate
	{"rk_live_", 20, true},          // Stripe
	{"rk_test_", 20, true},          // Stripe
	{"rubygems_", 48, true},         // RubyGems
	{"sb_secret_", 20, false},       // Supabase
	{"sbp_", 40, true},              // Supabase
	{"shpat_", 32, false},           // Shopify
	{"shpca_", 32, false},           // Shopify
	{"shppa_", 32, false},           // Shopify
	{"shpss_", 32, false},           // Shopify
	{"sk-", 20, true},               // OpenAI, DeepSeek and others
	{"sk-ant-", 20, false},          // Anthropic
	{"sk-or-v1-", 20, false},        // OpenRouter
	{"sk-proj-", 20, false},         // OpenAI
	{"sk-svcacct-", 20, false},      // OpenAI
	{"sk_live_", 20, true},          // Stripe
	{"sk_test_", 20, true},          // Stripe
	{"sntrys_", 40, false},          // Sentry
	{"sntryu_", 40, false},          // Sentry
	{"sq0csp-", 40, false},          // Square
	{"tskey-", 20, true},            // Tailscale
	{"tvly-", 20, true},             // Tavily
	{"whsec_", 24, true},            // Stripe, Svix
	{"xai-", 60, true},              // xAI
	{"xapp-", 40, false},            // Slack
	{"xoxa-", 20, false},            // Slack
	{"xoxb-", 20, false},            // Slack
	{"xoxe-", 20, false},            // Slack
	{"xoxe.xoxb-", 20, false},       // Slack
	{"xoxe.xoxp-", 20, false},       // Slack
	{"xoxo-", 20, false},            // Slack
	{"xoxp-", 20, false},            // Slack
	{"xoxr-", 20, false},            // Slack
	{"xoxs-", 20, false},            // Slack
	{"ya29.", 40, false},            // an access token of Google
}

// maxToken bounds what is looked at as a token. JSON Web Tokens with many claims
// are the longest; an HTTP header cannot be much longer.
const maxToken = 16 << 10

// isToken reports whether the whole of value is a token of a known form.
func isToken(value string) bool {
	if len(value) < 20 || len(value) > maxToken || !all(value, tokenByte) {
		return false
	}
	if isJWT(value) {
		return true
	}
	switch {
	case strings.HasPrefix(value, "AKIA"), strings.HasPrefix(value, "ASIA"): // AWS
		return len(value) == 20 && all(value, upperByte)
	case strings.HasPrefix(value, "AIza"): // Google
		return len(value) == 39
	case strings.HasPrefix(value, "SG."): // SendGrid
		return len(value) == 69 && value[25] == '.'
	}
	for _, f := range tokenForms {
		if rest, ok := strings.CutPrefix(value, f.prefix); ok && len(rest) >= f.length && (!f.random || looksRandom(rest)) {
			return true
		}
	}
	return false
}

// isJWT reports whether value has the form of a JSON Web Token (RFC 7519), or of
// another signed one (RFC 7515): three parts in base64url, of which the first is
// an object, and so begins with {" or the like.
func isJWT(value string) bool {
	if !strings.HasPrefix(value, "eyJ") || strings.Count(value, ".") != 2 {
		return false
	}
	header, rest, _ := strings.Cut(value, ".")
	payload, signature, _ := strings.Cut(rest, ".")
	return len(header) >= 16 && len(payload) >= 2 && len(signature) >= 16 && strings.IndexByte(value, '=') < 0
}

// looksRandom reports whether there are 12 letters and digits on end in s, some
// of each. Words that people write have hyphens between them, and no digits in
// them: sk-learn-2024-experiments, npm_config_registry.
func looksRandom(s string) bool {
	run, letters, digits := 0, 0, 0
	for i := range len(s) {
		switch c := s[i]; {
		case '0' <= c && c <= '9':
			digits++
		case 'a' <= c|0x20 && c|0x20 <= 'z':
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

func all(s string, f func(byte) bool) bool {
	for i := range len(s) {
		if !f(s[i]) {
			return false
		}
	}
	return true
}

// tokenByte reports whether c can be part of a token as RFC 6750 has it, but for
// the slash: no form above has one, and most values that are none do.
func tokenByte(c byte) bool {
	switch c {
	case '-', '.', '_', '~', '+', '=':
		return true
	}
	return 'a' <= c|0x20 && c|0x20 <= 'z' || '0' <= c && c <= '9'
}

func upperByte(c byte) bool {
	return 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
