// Package page writes the result of a call as a model reads it: the facts, the
// notes, and as much of the output as the budget of the result allows.
package page
