// Package shellfacts tells which programs a shell command runs and which files it
// writes, as far as its text tells.
//
// Facts say what is known; only a sandbox says what is possible. A program that
// runs because a file says so, such as a Makefile or the configuration of a
// repository, is in no text. A policy over Facts saves a person from questions, and
// keeps no command from doing harm. Package policy has such a policy.
//
// [Parse] reads a short list of syntax, which all shells understand alike:
//
//   - Words of literals, quotes, $NAME, ${NAME}, $1, $?, *?[…], {a,b} and a leading ~. The
//     name of a program has no quote and no backslash.
//   - Pipelines, &&, ||, ;, &, !, comments, groups, subshells, if, while, until, and for
//     over words by a variable of small letters.
//   - 2>&1, 1>&2, redirections of 0, 1 and 2 to literal paths, and here-documents
//     with a quoted delimiter. A path below /dev or /proc is no plain file, except for
//     /dev/null.
//   - cd LITERAL as the first command of a text or a subshell, followed by &&.
//   - Of the builtins cd, echo, printf, test, [, true, false, :, pwd, exit, wait, kill.
//
// It also reads through programs that start others: env, timeout, xargs, sh -c,
// find -exec and the like, and knows the options of a system's usual programs.
// Everything else makes Complete false, and Why has the reason for a person. Parse stops
// at syntax outside of the list, so the other fields then have what stands before it.
//
// A policy that allows commands by the names of their programs has to look at Complete,
// at the name and at Files of each Program, and at each of Writes. Facts do not include
// what a program reads without being told by its arguments, network connections, signals,
// and which variables a command prints. The environment in which the command starts, and
// the programs in its PATH, are the host's and are trusted.
//
// Parse knows bash, and sh as dash, busybox and bash in their POSIX mode have it. Of
// other shells the Facts are what bash would do, and are not Complete.
//
// To test a policy, compare its answers with what commands really do: run them in an
// empty directory, with programs in PATH that leave a mark.
package shellfacts
