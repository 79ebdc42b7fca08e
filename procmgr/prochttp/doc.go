// Package prochttp lets processes run on another machine: [NewHandler] serves
// any [procmgr.Host] over HTTP, and [Client] is a Host whose processes run
// where the handler is. So the tools, and everything else that takes a
// Manager, work there as they do here, and a client of a handler of a client is
// a Host like any other.
//
//	handler, err := prochttp.NewHandler(local, &prochttp.HandlerOptions{Token: token, Hosts: []string{"build.example"}})
//	…
//	client, err := prochttp.NewClient("https://build.example:8443", &prochttp.ClientOptions{Token: token})
//	tools := toolset.New(toolset.Static(client.Chat(chatID)), nil)
//
// # What the network must not change
//
// A command runs once. Every start has an ID, which the client chooses where its
// caller does not, so that an answer that is lost can be asked for again. A start
// says which server it is for; one that was restarted runs nothing, and the
// error is [procmgr.ErrUnknown]. A signal has a key and is sent once.
//
// Output is the same, byte for byte, as the Host behind the handler gave it.
// Errors match the same sentinels.
//
// A caller that goes away frees what it held on the server. It stops no
// process: who wants that calls Signal with the ID that it chose, which works
// also where the start's answer never came, and where the start itself comes
// later.
//
// # Security
//
// Whoever may call a handler runs commands. Nobody may unless the options say
// so: a bearer token, or Authorize, whose [Scope] binds a caller to its chats,
// or a socket of [ListenUnix]. Requests of browsers are refused. The handler
// does no TLS by itself: http.Server does, or a proxy in front of it.
//
// Chats are kept apart by this interface, not by the system: commands that run
// as one user can read each other's files and environment. docs/security.md
// says who is trusted with what.
//
// # The wire
//
// docs/protocol.md describes every request and answer, for clients in other
// languages. It also says which limits of a reverse proxy matter.
//
// # Platforms
//
// Handler and client run everywhere; ListenUnix needs a Unix with flock. To test
// against them, serve a Local with [net/http/httptest] and run the suite of
// [github.com/toolproc/toolproc/procmgr/proctest].
package prochttp
