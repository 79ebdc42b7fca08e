// Package arguments reads the arguments that a model sends for a tool, and writes
// the JSON schema that asks for them. Both follow a struct whose fields have types
// of this package. It is for a set of tools in the shape of package toolset.
//
// A field is required if its json tag has no omitempty. The tag description is for
// the model. The tag enum lists the values, separated by commas. The tag alias
// lists wrong names that models use; the error for one of them gives the right
// name.
package arguments
