// Package scripts finds the files that a command plainly runs, so that it can be
// said what is in them: ./build.sh, bash x.sh, python x.py, make, npm run x.
//
// It is for a few certain shapes and has no more of a shell than they need. A
// command with a substitution, a loop or a here-document in it runs nothing as far
// as this package can say, and so does a program without a / in its name. What it
// says is a hint for a reader and decides nothing.
package scripts
