// Package prochttp runs processes on another machine. [NewHandler] serves any
// [procmgr.Host] over HTTP. [Client] is a Host whose processes run on the machine of
// the handler. So the tools, and everything else that takes a Manager, work the same
// through a Client as locally. Handlers and clients can be chained: a Client is a Host
// like any other, so a handler can serve it.
//
//	handler, err := prochttp.NewHandler(local, &prochttp.HandlerOptions{Token: token, Hosts: []string{"build.example"}})
//	…
//	client, err := prochttp.NewClient("https://build.example:8443", &prochttp.ClientOptions{Token: token})
//	tools, err := toolset.New(toolset.Static(client.Chat(chatID)), nil)
//
// # Ways without a port
//
// Anything with a stdin and a stdout is a way to another machine: ssh, docker exec -i,
// kubectl exec -i. [Command] turns such a command into a connection for
// ClientOptions.Dial, and [ServeStdio] is its far side. [docs/remote.md] says which ways
// were tried.
//
// # What the network must not change
//
// A command runs once. Every start has an ID, so that the client can ask again if an
// answer is lost. If the caller gives no ID, the client chooses one. A start names the
// server it is meant for. If that server was restarted, the new one runs nothing, and
// the error is [procmgr.ErrUnknown]. A signal has an idempotency key and is sent once.
//
// Output is byte for byte the output of the Host behind the handler. Errors match the
// same sentinels.
//
// A caller that disconnects frees its resources on the server, but stops no process. To
// stop a process, call Signal with the ID that the caller chose. This also works if the
// answer to the start never came, and if the start itself arrives later.
//
// # Retries
//
// Each call is one request, or one for each 25 s of its wait. A request is repeated
// until it is answered:
//
//	           answer, or error that a repeat cannot change
//	attempt ------------------------------------------------> done
//	 ^   |
//	 |   | no answer, or "busy"
//	 |   v
//	 |  unsent: no attempt can have arrived  --+  time is up, or Retry is negative
//	 |  unsure: an attempt may have arrived  --+----------------------------------> given up
//	 |   |                                     |
//	 +---+ pause of 50 ms to 2 s               +----------------------------------> ended
//	                                              the context of the call
//
// A call is unsent until an attempt gets a connection but no answer. From then on it is
// unsure. A Start or an Input that is given up while unsure is [procmgr.ErrUnknown];
// one given up while unsent has done nothing. The time limit is ClientOptions.Retry
// from the first failure on, and begins anew when a wait was cut.
//
// # Security
//
// A caller of a handler runs commands. The handler refuses every caller unless the
// options let it in: by a bearer token, by Authorize, whose [Scope] binds a caller to
// its chats, or by Insecure, for a socket of [ListenUnix]. It refuses requests of
// browsers. The handler itself does no TLS: http.Server does it, or a proxy in front of
// it.
//
// This interface keeps chats apart, but the system does not: commands that run as the
// same user can read each other's files and environment. [docs/security.md] describes the
// trust model.
//
// # The wire
//
// [docs/protocol.md] describes every request and answer, for clients in other
// languages. [docs/remote.md] lists the limits of a reverse proxy that matter.
//
// # Platforms
//
// Handler and client run everywhere; ListenUnix needs a Unix. On Windows, the end of a
// Command's connection ends only the command itself, not its descendants. To test your
// code against them, serve a Local with [net/http/httptest] and run the suite of
// [github.com/toolproc/toolproc/procmgr/proctest].
//
// [docs/remote.md]: https://github.com/toolproc/toolproc/blob/main/docs/remote.md
// [docs/security.md]: https://github.com/toolproc/toolproc/blob/main/docs/security.md
// [docs/protocol.md]: https://github.com/toolproc/toolproc/blob/main/docs/protocol.md
package prochttp
