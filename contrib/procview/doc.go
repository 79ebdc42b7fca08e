// Package procview shows the processes of a [procmgr.Host] to a person, on one web
// page: which ones there are, what they print, what of that the model has read, and a
// button that ends one without ending the turn.
//
//	view, err := procview.New(manager, &procview.Options{Loopback: true})
//	…
//	http.Handle("/procs/", http.StripPrefix("/procs", view))
//	tools := chattool.All(resolver, &toolset.Options{OnResult: view.Result})
//	fmt.Println("processes:", view.URL("http://127.0.0.1:8080/procs/"))
//
// A View keeps nothing on disk and asks the manager only while a page is open. It
// remembers the results that [View.Result] gets, 32 MiB at most, the newest 200 calls, and
// for each process which parts of its output the results have shown. Without Result the
// page works too, but does not say what the model has read. Lines that report trouble are
// marked only if the manager keeps a log, as a Local does with LogDir.
//
// # What watching costs
//
// Reading consumes nothing: an open page changes no offset, no notice and no state. All
// pages together have one wait for events, and at most five lookups a second for the
// ports of living processes. A page follows the one process that it shows.
// It repaints at most five times a second and keeps 2 MiB of output; older output is
// read again from the log when the user scrolls there. If a process prints faster, the
// page skips to the end.
//
// # Security
//
// The token gives access to the output of every chat, or of the chat whose Manager New
// got, and the right to end each of these processes unless [Options.ReadOnly] is set.
// The page itself has no data. Its script takes the token from the fragment of the URL,
// which no browser sends to a server, and sends it as a bearer token. There is no cookie,
// so a page of another site can do nothing in a visitor's name. A request needs a Host
// that is meant for this machine, and an Origin, if it has one, that fits. Output is put
// into the page as text, and controls that would change the direction of a line are made
// visible.
//
// The handler does no TLS: http.Server does it, or a proxy in front.
//
// # Requests
//
// Each needs the header "Authorization: Bearer TOKEN". ID is the ID of a process; if
// several chats use it, the query names the chat, as in ?chat=NAME.
//
//	GET  list         processes as JSON; q searches, offset and limit page
//	GET  stream       what the page reads: events of all processes, and the output of one
//	GET  ID/output    the output so far, as plain text
//	GET  ID/part      some of the output as JSON: from, to
//	POST ID/signal    {"signal":"terminate"}, interrupt or kill; the answer has the process as it is then
//
// The id of an event of stream is the offset at which its text ends. A page that sends it
// as Last-Event-ID reads on from there: it loses no byte and gets none twice.
//
// It runs everywhere. Ports come from the manager: a Local has them on Linux only.
package procview
