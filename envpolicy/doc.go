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
//   - a private key in PEM or OpenPGP armor;
//   - a URL with a password in it, as in postgres://user:password@host/db, and
//     a connection string with a password field; not in a proxy variable, which
//     commands need in order to reach the network at all;
//   - a webhook URL of Slack or Discord, which lets whoever has it post;
//   - an Authorization header or a bearer token;
//   - a token with a well-known prefix, as GitHub's, Anthropic's, OpenAI's or
//     AWS's keys have, and a JSON Web Token. The value must be the token and
//     nothing else, and must look random: sk-learn is no key.
//
// Both are guesses. A secret under a harmless name and in no known form stays,
// and now and then something harmless goes; [Policy.Exclude] and [Policy.Allow]
// are for those, and [Report] names what went.
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
