// Package frameworks has the tools of a Set for libraries that call tools, as
// [docs/frameworks.md] shows them. It is a module of its own, so that no user of toolproc
// gets the dependencies of all of them.
//
// [docs/frameworks.md]: https://github.com/toolproc/toolproc/blob/main/docs/frameworks.md
package frameworks
