// Package envpolicy decides which environment variables a child process gets.
//
// A host that runs commands for a language model has an environment of its own:
// API keys, database URLs, a pager, an editor. A [Policy] says which of its
// variables the commands see, and [Policy.Apply] computes their environment.
// The zero Policy is meant to be right for most hosts: commands inherit every
// variable that does not look like a secret, and no variable makes them wait
// for a person.
//
// # Protection
//
// Accidents. If a model runs env, set or printenv, or a program prints its
// environment when it crashes, every variable gets into the conversation, and
// so into logs and into the next request to the provider of the model. A
// variable that is not in the environment cannot get there that way. A Policy
// recognizes secrets by the words of their names (see [SecretNames]), and by
// values that are plainly secret under any name:
//
//   - a private key in PEM or OpenPGP armor, also in base64, or in PuTTY's
//     format;
//   - 32 bytes as 0x and 64 hexadecimal digits, the key of an Ethereum account,
//     but only if the last word of the name is KEY, KEYS, PK, SK, PRIV, PRIVATE
//     or SEED, because hashes look the same; not PUBLIC_KEY, PUB_KEY and
//     CACHE_KEY;
//   - a URL with a password, such as postgres://user:password@host/db; a data
//     source name such as user:password@tcp(host)/db; a connection string, an
//     option or JSON with a password field; a line of a .netrc, an .npmrc or a
//     nix.conf with a password. A proxy variable is an exception, because
//     commands need it to reach the network at all;
//   - a URL that is a secret as a whole, because anybody who has it may post or
//     read: a webhook, for example of Slack, Discord or Teams, or a signed URL;
//   - an Authorization header, a bearer token, a cookie, and a header whose
//     name is that of a secret, such as X-Api-Key;
//   - a token with a well-known prefix, such as the keys of GitHub, Anthropic,
//     OpenAI or AWS, and a JSON Web Token. The value must be the token and
//     nothing else but quotes, white space and a user name, or a list of tokens
//     with commas. It must look random: sk-learn is no key.
//
// A placeholder for a secret is no secret: $TOKEN, <token>, ***.
//
// Both rules are guesses. A secret with a harmless name and in no known form
// stays, and sometimes a harmless variable goes. [Policy.Exclude] and
// [Policy.Allow] are for these cases, and [Report] names the variables that
// went.
//
// # Git's settings
//
// Git takes settings from GIT_CONFIG_COUNT, GIT_CONFIG_KEY_0,
// GIT_CONFIG_VALUE_0 and so on, and fails if one of them is missing. If half of
// a pair is withheld, such as an Authorization header, a setting without a
// meaning takes its place, toolproc.withheld, and all other settings keep their
// places. In GIT_CONFIG_PARAMETERS, git hands on the settings that it got with
// -c. If one of them is a secret, the whole variable is withheld.
//
// # No protection
//
// It is no boundary. A command runs as some user and can read everything that
// this user can read. On Linux, that includes the environment of every other
// process of the user in /proc/PID/environ, even of the host itself. Everywhere
// it includes the user's files, such as ~/.aws/credentials and ~/.netrc, and
// agents such as the one behind SSH_AUTH_SOCK. A command that looks for secrets
// finds them. If that matters, run commands as another user or in a sandbox,
// and give that user nothing that it may not have.
//
// Apply does not check the values that the host sets itself ([Policy.Set]) or
// that a request asks for: those are meant to be there.
//
// # Names and patterns
//
// A pattern must match the whole name. In a pattern, * matches any number of
// characters and ? exactly one. Letters match in either case, on every
// platform. There is no escape. So LC_* matches every locale category, and
// *KEY* any name with KEY in it. Matching takes time in proportion to the
// length of the pattern times the length of the name, never more.
//
// Names that are not patterns ([Policy.Set], [Policy.Unset], the request) are
// compared as the platform compares them: exactly on Unix, without regard to
// case on Windows.
//
// # Platforms
//
// On Windows, PATH and Path are one variable: it appears once, spelled as it
// was last set. Windows keeps the current directory of each drive in entries
// such as "=C:=C:\src". They are kept under the name "=C:". On other platforms
// a name cannot be empty, and entries that begin with = are dropped. Windows
// has [CoreNames] of its own. Everything else is the same on all platforms.
//
// The non-interactive variables name programs (true, false and cat) that every
// Unix has. On Windows, the sh that runs the commands brings them. If they are
// missing, a prompt still fails instead of waiting.
package envpolicy
