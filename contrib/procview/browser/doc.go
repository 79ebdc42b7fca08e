// Package browser has tests alone: they open the page of package procview in a
// browser, as a person does. It is a module of its own, so that no user of procview
// gets what drives a browser.
package browser
