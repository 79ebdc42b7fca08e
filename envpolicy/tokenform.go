package envpolicy

// A tokenForm is the form of one service's tokens.
type tokenForm struct {
	prefix string
	length int  // least length after the prefix, in bytes
	random bool // the rest must look random, because other words begin with this prefix
}

// tokenForms has the prefixes that services give their secret tokens so that
// scanners find them. The sources are the documents of those services. A length
// is that of the shortest tokens in use, or somewhat less if the lengths vary.
var tokenForms = []tokenForm{
	{"AGE-SECRET-KEY-1", 58, false},    // age
	{"AGE-SECRET-KEY-PQ-1", 58, false}, // age
	{"AKCp", 69, true},                 // Artifactory
	{"AQ.A", 40, true},                 // Google, for Gemini
	{"ATATT3", 60, false},              // Atlassian
	{"ATBB", 32, true},                 // Bitbucket
	{"ATCTT3", 60, false},              // Atlassian
	{"ATTA", 64, true},                 // Trello
	{"CCIPAT_", 30, false},             // CircleCI
	{"CCIPRJ_", 30, false},             // CircleCI
	{"CFPAT-", 40, false},              // Contentful
	{"EAAA", 60, true},                 // Square
	{"EAAC", 100, true},                // Meta
	{"GOCSPX-", 28, false},             // a client secret of Google
	{"GR1348941", 20, true},            // GitLab
	{"HRKU-", 36, false},               // Heroku
	{"NRAK-", 27, false},               // New Relic
	{"PMAK-", 40, false},               // Postman
	{"access-production-", 36, true},   // Plaid
	{"access-sandbox-", 36, true},      // Plaid
	{"api_org_", 34, true},             // Hugging Face
	{"bb_live_", 20, true},             // Browserbase
	{"bkua_", 40, true},                // Buildkite
	{"cfat_", 40, true},                // Cloudflare
	{"cfk_", 37, true},                 // Cloudflare
	{"cfut_", 40, true},                // Cloudflare
	{"cio", 32, true},                  // crates.io
	{"cmVmdGtuO", 55, true},            // Artifactory
	{"csk-", 40, true},                 // Cerebras
	{"dapi", 32, true},                 // Databricks
	{"dbtc_", 30, true},                // dbt
	{"dbtu_", 30, true},                // dbt
	{"dckr_oat_", 20, false},           // Docker
	{"dckr_pat_", 20, false},           // Docker
	{"ddp_", 36, true},                 // Deno
	{"doo_v1_", 64, false},             // DigitalOcean
	{"dop_v1_", 64, false},             // DigitalOcean
	{"dor_v1_", 64, false},             // DigitalOcean
	{"dose", 32, true},                 // Databricks
	{"dp.", 40, true},                  // Doppler
	{"e2b_", 40, true},                 // E2B
	{"fc-", 32, true},                  // Firecrawl
	{"figd_", 40, false},               // Figma
	{"fw_", 22, true},                  // Fireworks
	{"gho_", 36, false},                // GitHub
	{"ghp_", 36, false},                // GitHub
	{"ghr_", 36, false},                // GitHub
	{"ghs_", 36, false},                // GitHub
	{"ghu_", 36, false},                // GitHub
	{"github_pat_", 22, false},         // GitHub
	{"glagent-", 50, false},            // GitLab
	{"glc_", 40, true},                 // Grafana
	{"glcbt-", 20, false},              // GitLab
	{"gldt-", 20, false},               // GitLab
	{"glffct-", 20, false},             // GitLab
	{"glft-", 20, false},               // GitLab
	{"glimt-", 25, false},              // GitLab
	{"gloas-", 64, false},              // GitLab
	{"glpat-", 20, false},              // GitLab
	{"glptt-", 20, false},              // GitLab
	{"glrt-", 20, false},               // GitLab
	{"glrtr-", 20, false},              // GitLab
	{"glsa_", 40, true},                // Grafana
	{"glsoat-", 20, false},             // GitLab
	{"glwt-", 20, false},               // GitLab
	{"gsk_", 40, true},                 // Groq
	{"hf_", 30, true},                  // Hugging Face
	{"hvb.", 24, true},                 // Vault
	{"hvr.", 24, true},                 // Vault
	{"hvs.", 24, true},                 // Vault
	{"jina_", 50, true},                // Jina
	{"key-", 32, true},                 // Mailgun
	{"lin_api_", 32, true},             // Linear
	{"lin_oauth_", 32, true},           // Linear
	{"lsv2_pt_", 32, true},             // LangSmith
	{"lsv2_sk_", 32, true},             // LangSmith
	{"mlsn.", 64, true},                // MailerSend
	{"napi_", 60, true},                // Neon
	{"nfp_", 32, true},                 // Netlify
	{"npm_", 36, true},                 // npm
	{"nsec1", 58, true},                // Nostr
	{"ntn_", 40, true},                 // Notion
	{"nvapi-", 60, true},               // NVIDIA
	{"ops_eyJ", 100, true},             // 1Password
	{"oy2", 43, true},                  // NuGet
	{"pat-eu1-", 36, true},             // HubSpot
	{"pat-na1-", 36, true},             // HubSpot
	{"pcsk_", 40, true},                // Pinecone
	{"phx_", 40, true},                 // PostHog
	{"pnu_", 36, true},                 // Prefect
	{"pplx-", 40, true},                // Perplexity
	{"pscale_oauth_", 32, false},       // PlanetScale
	{"pscale_pw_", 32, false},          // PlanetScale
	{"pscale_tkn_", 32, false},         // PlanetScale
	{"pul-", 40, true},                 // Pulumi
	{"pypi-", 50, true},                // PyPI
	{"r8_", 37, true},                  // Replicate
	{"re_", 30, true},                  // Resend
	{"rk_live_", 20, true},             // Stripe
	{"rk_test_", 20, true},             // Stripe
	{"rnd_", 28, true},                 // Render
	{"rpa_", 40, true},                 // RunPod
	{"rubygems_", 48, true},            // RubyGems
	{"sb_secret_", 20, false},          // Supabase
	{"sbp_", 40, true},                 // Supabase
	{"secret_", 43, true},              // Notion
	{"sha256~", 43, true},              // OpenShift
	{"shpat_", 32, false},              // Shopify
	{"shpca_", 32, false},              // Shopify
	{"shppa_", 32, false},              // Shopify
	{"shpss_", 32, false},              // Shopify
	{"shpua_", 32, false},              // Shopify
	{"sk-", 20, true},                  // OpenAI, DeepSeek and others
	{"sk-admin-", 20, false},           // OpenAI
	{"sk-ant-", 20, false},             // Anthropic
	{"sk-or-v1-", 20, false},           // OpenRouter
	{"sk-proj-", 20, false},            // OpenAI
	{"sk-svcacct-", 20, false},         // OpenAI
	{"sk.eyJ", 60, false},              // Mapbox
	{"sk_", 48, true},                  // ElevenLabs
	{"sk_live_", 20, true},             // Stripe, Clerk
	{"sk_test_", 20, true},             // Stripe, Clerk
	{"sl.", 100, true},                 // Dropbox
	{"snyk_sat.", 30, true},            // Snyk
	{"snyk_uat.", 30, true},            // Snyk
	{"sntrys_", 40, false},             // Sentry
	{"sntryu_", 40, false},             // Sentry
	{"sq0atp-", 22, false},             // Square
	{"sq0csp-", 40, false},             // Square
	{"sqa_", 40, true},                 // SonarQube
	{"sqp_", 40, true},                 // SonarQube
	{"squ_", 40, true},                 // SonarQube
	{"tfp_", 40, true},                 // Typeform
	{"tgp_v1_", 40, true},              // Together
	{"tskey-", 20, true},               // Tailscale
	{"tvly-", 20, true},                // Tavily
	{"vca_", 24, true},                 // Vercel
	{"vci_", 24, true},                 // Vercel
	{"vck_", 24, true},                 // Vercel
	{"vcp_", 24, true},                 // Vercel
	{"vcr_", 24, true},                 // Vercel
	{"whsec_", 24, true},               // Stripe, Svix
	{"xai-", 60, true},                 // xAI
	{"xapp-", 40, false},               // Slack
	{"xkeysib-", 64, true},             // Brevo
	{"xoxa-", 20, false},               // Slack
	{"xoxb-", 20, false},               // Slack
	{"xoxc-", 20, false},               // Slack
	{"xoxd-", 20, false},               // Slack
	{"xoxe-", 20, false},               // Slack
	{"xoxe.xoxb-", 20, false},          // Slack
	{"xoxe.xoxp-", 20, false},          // Slack
	{"xoxo-", 20, false},               // Slack
	{"xoxp-", 20, false},               // Slack
	{"xoxr-", 20, false},               // Slack
	{"xoxs-", 20, false},               // Slack
	{"xprv", 107, true},                // Bitcoin, an extended private key
	{"xwfp-", 20, false},               // Slack
	{"ya29.", 40, false},               // an access token of Google
}
