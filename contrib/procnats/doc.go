// Package procnats reaches machines by NATS. A machine dials out to a NATS
// server and needs no port of its own. A caller finds it by its name:
//
//	service, err := procnats.Serve(ctx, nc, "build", handler, nil) // on the machine
//
//	client, err := prochttp.NewClient("http://localhost", &prochttp.ClientOptions{
//		Transport: procnats.Transport(nc, "build"), // elsewhere
//	})
//
// The client, the handler and the protocol come from package prochttp: a start
// runs once, and a wait outlives a lost connection. The host in the client's URL
// does not matter.
//
// # Subjects
//
// The request of a call goes to the subject
//
//	toolproc.HOST.CHAT.CALL
//
// HOST is the name of the machine. CHAT is the chat's ID in base32hex (RFC
// 4648, section 7, without padding), or _host if the caller is the host itself.
// CALL is the last segment of the URL's path: start, list, output, input,
// signal, events, describe or health. A caller that gives up on a call sends the
// call "cancel". So the permissions of a NATS user say what a caller may do. The
// machine takes the chat from the subject. It refuses a request whose header
// names another chat, or whose path names another call.
//
// The request message contains an HTTP/1.1 request, and the answer an HTTP/1.1
// response. Each is one message, so the server's max_payload bounds them: a
// longer request is not sent, and a longer answer becomes an error that says so.
//
// # Machines
//
// A machine is a NATS micro service with the name toolproc. Its metadata have the
// name of the machine as "host" and the instance of its handler as "instance"; its
// statistics have a [Load]. A machine whose connection ends is gone at once.
package procnats
