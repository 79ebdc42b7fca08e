// Package scripts finds the files that a command plainly runs, and reads them:
// ./build.sh, bash x.sh, python x.py, make, npm run x.
//
// It knows a few certain shapes of commands, and only as much of a shell as
// they need. If a command has a substitution, a loop or a here-document, the
// package finds nothing. A program without a / in its name is not read either.
// The result is a hint for a reader and decides nothing.
package scripts
