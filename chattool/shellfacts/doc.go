// Package shellfacts tells which programs a shell command runs and which files it
// writes, as far as its text tells.
//
// Facts say what is known; only a sandbox says what is possible. A program that
// runs because a file says so, such as a Makefile or the configuration of a
// repository, is in no text. So a policy over Facts saves a person from questions,
// and keeps no command from doing harm.
//
// [Parse] reads a command as the shell does, through loops, functions, pipelines and
// substitutions, and through the programs that start others: env, timeout, xargs,
// sh -c, find -exec and their like. It knows the options of the usual programs of a
// system. If something of the command could not be known, such as a name of a
// program that a variable has, then Complete is false, and Why says it for a person.
//
// A policy that allows commands by the names of their programs has to look at Complete,
// at the name and at Files of each Program, and at each of Writes. No Facts are: what a
// program reads without being told by its arguments, network connections, signals, and
// which variables a command prints. The environment in which the command starts, and
// the programs in its PATH, are taken for harmless: they are the host's.
//
// Parse knows bash, and sh as dash, busybox and bash in their POSIX mode have it. Of
// other shells the Facts are what bash would do, and are not Complete.
//
// To test a policy, compare its answers with what commands really do: run them in an
// empty directory, with programs in PATH that leave a mark.
package shellfacts
