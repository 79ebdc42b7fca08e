// Package envpolicy decides which environment variables a child process gets.
//
// A host that runs commands for a language model has an environment of its own:
// API keys, database URLs, a pager, an editor. A [Policy] says what of it the
// commands see, and [Policy.Apply] works out their environment. The zero Policy
// is meant to be right for most hosts: commands inherit everything except what
// looks like a secret, and nothing in it makes them wait for a person.
//
// # What it protects against
//
// Accidents. A model that runs env, set or printenv, or a program that prints
// its environment when it crashes, puts every variable into the conversation,
// and so into logs and into the next request to a model's provider. What is not
// in the environment cannot get there that way. Secrets are known by the words
// of their names (see [SecretNames]) and by values that are plainly secret
// whatever they are called:
//
//   - a private key in PEM or OpenPGP armor, also in base64, or in PuTTY's format;
//   - 32 bytes as 0x and 64 hexadecimal digits, the key of an account of Ethereum,
//     but only if the last word of the name is KEY, KEYS, PK, SK, PRIV, PRIVATE or
//     SEED, since hashes look the same; not PUBLIC_KEY, PUB_KEY and CACHE_KEY;
//   - a URL with a password in it, as in postgres://user:password@host/db; a data
//     source name as user:password@tcp(host)/db; a connection string, an option
//     or JSON with a password field; a line of a .netrc, an .npmrc or a nix.conf with one. Not
//     in a proxy variable, which commands need in order to reach the network at all;
//   - a URL that is a secret as a whole, since whoever has it may post or read: a
//     webhook, as of Slack, Discord or Teams, or one that is signed;
//   - an Authorization header, a bearer token, a cookie, and a header whose name is
//     that of a secret, as X-Api-Key is;
//   - a token with a well-known prefix, as GitHub's, Anthropic's, OpenAI's or
//     AWS's keys have, and a JSON Web Token. The value must be the token and
//     nothing else but quotes, white space and a user's name, or a list of tokens
//     by commas, and must look random: sk-learn is no key.
//
// What stands for a secret is none: $TOKEN, <token>, ***.
//
// Both are guesses. A secret under a harmless name and in no known form stays,
// and now and then something harmless goes; [Policy.Exclude] and [Policy.Allow]
// are for those, and [Report] names what went.
//
// # Git's settings
//
// Git takes settings from GIT_CONFIG_COUNT, GIT_CONFIG_KEY_0, GIT_CONFIG_VALUE_0
// and so on, and fails if one of them is missing. If half of a pair is withheld,
// as an Authorization header is, its place is taken by a setting that means
// nothing, toolproc.withheld, and all others keep theirs. GIT_CONFIG_PARAMETERS,
// by which git hands on what it got with -c, is withheld as a whole if there is a
// secret in it.
//
// # What it does not protect against
//
// It is no boundary. A command runs as some user, and what that user can read
// it can read: on Linux the environment of every other process of the user in
// /proc/PID/environ, the host's own included, and everywhere the user's files,
// such as ~/.aws/credentials and ~/.netrc, and agents such as the one behind
// SSH_AUTH_SOCK. A command that looks for secrets finds them. Where that
// matters, run commands as another user or in a sandbox, and give that user
// only what it may have.
//
// Values are not looked at in what the host sets itself ([Policy.Set]) or in
// what a request asks for: those were meant.
//
// # Names and patterns
//
// A pattern is compared with the whole name. In it, * stands for any number of
// characters, ? for exactly one, and letters match in either case, on every
// platform. There is no escape. So LC_* is every locale category, and *KEY*
// anything with KEY in it. Matching takes time in proportion to the lengths of
// pattern and name multiplied, never more.
//
// Names that are no patterns ([Policy.Set], [Policy.Unset], the request) are
// compared as the platform does it: exactly on Unix, without regard to case on
// Windows.
//
// # Platforms
//
// On Windows, PATH and Path are one variable: a name comes out once, spelled as
// whoever set it last did. The entries that keep the current directory of each
// drive, such as "=C:=C:\src", are kept under the name "=C:"; elsewhere, a name
// cannot be empty, and entries that begin with = are dropped. [CoreNames] are
// different ones on Windows. All else is the same everywhere.
//
// The non-interactive variables name programs (true, false and cat) that every
// Unix has. On Windows they come with the sh that runs the commands; where they
// are missing, a prompt fails all the same instead of waiting.
package envpolicy
