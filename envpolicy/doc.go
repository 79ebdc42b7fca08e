// Package envpolicy decides which environment variables a child process gets.
//
// A host that runs commands for a language model has an environment of its own:
// API keys, database URLs, a pager, an editor. A [Policy] says which of its
// variables the commands see, and [Policy.Apply] computes their environment.
// The zero Policy is right for most hosts: commands inherit every variable that
// does not look like a secret, and no variable makes them wait for a person.
// With IncludeOnly, a Policy starts from nothing and has a list of what it
// allows.
//
// # What counts as a secret
//
// [IsSecret] looks at the words of the name (TOKEN, PASSWORD, API_KEY) and at
// the value: private keys, URLs and connection strings with a password,
// Authorization headers and cookies, webhooks, JSON Web Tokens, and tokens with
// a well-known prefix such as ghp_. Placeholders such as $TOKEN, <token> and
// *** don't count, nor do values that an API hands out for web pages.
//
// Both rules are guesses. A secret with a harmless name and in no known form
// stays, and sometimes a harmless variable goes. Exclude and Allow are for these
// cases, and Apply names what it withheld.
//
// # What it protects against
//
// Accidents. If a model runs env, set or printenv, or a crashing program prints
// its environment, every variable gets into the conversation, and so into logs
// and into the next request to the provider of the model.
//
// It is no boundary. A command runs as some user and can read everything that
// this user can read. On Linux, that includes the environment of every other
// process of the user in /proc/PID/environ, even of the host itself. Everywhere
// it includes the user's files, such as ~/.aws/credentials and ~/.netrc, and
// agents such as the one behind SSH_AUTH_SOCK. If that matters, run commands as
// another user or in a sandbox.
//
// # Names and patterns
//
// A pattern must match the whole name. In a pattern, * matches any number of
// characters and ? exactly one, and letters match in either case. There is no
// escape. So LC_* matches every locale category, and *KEY* any name with KEY in
// it.
//
// The names in Set are compared as the platform compares them: exactly on Unix,
// without regard to case on Windows, where PATH and Path are one variable. The
// current directories of drives on Windows, "=C:=C:\src", have the name "=C:".
package envpolicy
