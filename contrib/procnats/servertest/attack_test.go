package servertest_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/procnats"
	"github.com/toolproc/toolproc/procmgr"
)

// A victim is a fleet in which there is something to attack.
type victim struct {
	*fleet
	bobs procmgr.Manager // on build
	bob  jetstream.Consumer
	keys jetstream.KeyValue
	want state
}

// A state is what an attacker must not change.
type state struct {
	ends, places  uint64 // messages of the streams
	bobs          int    // processes of bob
	waiting       uint64 // ends that bob has not acknowledged
	place, theirs string // of the chat bob-1; the output of bob's process
}

func newVictim(t *testing.T) *victim {
	t.Helper()
	v := &victim{fleet: newFleet(t)}
	v.bobs = v.local.Chat("bob-1")
	out, err := v.bobs.Start(t.Context(), procmgr.StartRequest{ID: "theirs", Command: "echo secret", Wait: long})
	require.NoError(t, err)
	require.Equal(t, "secret\n", out.Text)
	v.keys, err = v.admin.CreateKeyValue(t.Context(), jetstream.KeyValueConfig{Bucket: "toolproc_places"})
	require.NoError(t, err)
	_, err = v.keys.Create(t.Context(), bobChat, []byte("build"))
	require.NoError(t, err)
	v.bob, err = v.admin.CreateConsumer(t.Context(), "TOOLPROC_ENDS", jetstream.ConsumerConfig{Durable: "bob", FilterSubject: procnats.EndsSubject("bob-1")})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return v.state(t).waiting == 1 }, long, time.Millisecond)
	v.want = v.state(t)
	return v
}

func (v *victim) state(t *testing.T) (s state) {
	t.Helper()
	for name, n := range map[string]*uint64{"TOOLPROC_ENDS": &s.ends, "KV_toolproc_places": &s.places} {
		stream, err := v.admin.Stream(t.Context(), name)
		require.NoError(t, err)
		*n = stream.CachedInfo().State.Msgs
	}
	page, err := v.bobs.List(t.Context(), procmgr.ListRequest{})
	require.NoError(t, err)
	s.bobs = len(page.Processes)
	out, err := v.bobs.Output(t.Context(), "theirs", procmgr.OutputRequest{})
	require.NoError(t, err)
	s.theirs = out.Text
	info, err := v.bob.Info(t.Context())
	require.NoError(t, err)
	s.waiting = info.NumPending + uint64(info.NumAckPending)
	place, err := v.keys.Get(t.Context(), bobChat)
	require.NoError(t, err)
	s.place = string(place.Value())
	return s
}

// sees returns the messages that reach a user on a subject. If the server refuses
// the subscription, there are none.
func (u *user) sees(t *testing.T, subject string) func() []string {
	t.Helper()
	sub, err := u.SubscribeSync(subject)
	require.NoError(t, err)
	require.NoError(t, u.Flush())
	return func() (all []string) {
		require.NoError(t, u.Flush())
		for {
			msg, err := sub.NextMsg(time.Millisecond)
			if err != nil {
				return all
			}
			all = append(all, msg.Subject+" "+string(msg.Data))
		}
	}
}

// request is the data of a request.
func request(method, path, chat, body string) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s %s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", method, path, len(body))
	if chat != "" {
		fmt.Fprintf(&b, "Toolproc-Chat-Id: %s\r\n", chat)
	}
	b.WriteString("\r\n" + body)
	return b.Bytes()
}

var (
	list  = request(http.MethodPost, "/list", "", "{}")
	start = request(http.MethodPost, "/start", "", `{"id":"mine","command":"echo attacked"}`)
)

// Each of these is refused by the permissions of ../README.md.
func TestAttacksOnPermissions(t *testing.T) {
	v := newVictim(t)
	all := []string{"alice", "gpu", "operator", "placer"}
	for _, tt := range []struct {
		who                   []string
		publishes, subscribes []string
	}{
		{who: all, publishes: []string{
			"$JS.API.STREAM.CREATE.x", "$JS.API.STREAM.MSG.DELETE.TOOLPROC_ENDS",
			"$JS.API.STREAM.DELETE.TOOLPROC_ENDS", "$JS.API.STREAM.PURGE.TOOLPROC_ENDS",
			"$JS.API.STREAM.DELETE.KV_toolproc_places", "$JS.API.STREAM.PURGE.KV_toolproc_places",
			"toolproc.ends.build." + aliceChat, "toolproc.ends.build." + bobChat,
		}},
		{who: all, subscribes: []string{
			"_INBOX_bob.>", "_INBOX_build.>", "_INBOX.>", "_R_.>", ">", "*.>", "$JS.>", "$SYS.>",
			"toolproc.>", "toolproc.*.*.*", "toolproc.build.*.*", "toolproc.build." + aliceChat + ".*", "toolproc.ends.>",
		}},
		{who: []string{"alice", "operator", "placer"}, subscribes: []string{"$SRV.>"}},

		{who: []string{"alice"}, publishes: []string{
			"toolproc.build." + bobChat + ".list", "toolproc.build." + bobChat + ".start", "toolproc.build." + bobChat + ".cancel",
			"toolproc.build._host.list", "toolproc.build._host.start", "toolproc.build._host.health.x",
			"toolproc.build.*.list", "toolproc.*.*.list", "toolproc.ends." + aliceChat + "." + bobChat,
			"$KV.toolproc_places." + bobChat, "$KV.toolproc_places." + aliceChat,
		}},
		{who: []string{"alice"}, publishes: []string{
			"STORE.CONSUMER.CREATE.TOOLPROC_ENDS.alice.toolproc.ends.*." + bobChat,
			"STORE.CONSUMER.CREATE.TOOLPROC_ENDS.alice.toolproc.ends.*.*", "STORE.CONSUMER.CREATE.TOOLPROC_ENDS.alice.>",
			"STORE.CONSUMER.CREATE.TOOLPROC_ENDS.alice", "STORE.CONSUMER.CREATE.TOOLPROC_ENDS",
			"STORE.CONSUMER.CREATE.TOOLPROC_ENDS.bob.toolproc.ends.*." + aliceChat, "STORE.CONSUMER.DURABLE.CREATE.TOOLPROC_ENDS.alice",
			"STORE.CONSUMER.MSG.NEXT.TOOLPROC_ENDS.bob", "STORE.CONSUMER.DELETE.TOOLPROC_ENDS.bob",
			"STORE.CONSUMER.INFO.TOOLPROC_ENDS.bob", "$JS.ACK.TOOLPROC_ENDS.bob.1.1.1.1.0",
			"STORE.STREAM.DELETE.TOOLPROC_ENDS", "STORE.STREAM.PURGE.TOOLPROC_ENDS",
			"STORE.STREAM.UPDATE.TOOLPROC_ENDS", "STORE.STREAM.MSG.GET.TOOLPROC_ENDS",
		}},
		{who: []string{"gpu"}, publishes: []string{
			"_INBOX_alice.x", "_R_.x", "toolproc.build." + bobChat + ".start", "toolproc.gpu." + bobChat + ".start",
			"toolproc.build._host.health", "$KV.toolproc_places." + bobChat,
		}},
		{who: []string{"placer"}, publishes: []string{"toolproc.build." + bobChat + ".start"}},
	} {
		for _, who := range tt.who {
			for _, subject := range slices.Concat(tt.publishes, tt.subscribes) {
				t.Run(who+" "+subject, func(t *testing.T) {
					attacker := v.connect(t, who)
					verb := "Publish"
					if len(tt.publishes) > 0 {
						for _, data := range [][]byte{nil, list, start} {
							require.NoError(t, attacker.PublishRequest(subject, attacker.NewInbox(), data))
						}
					} else {
						verb = "Subscription"
						sees := attacker.sees(t, subject)
						defer func() { require.Empty(t, sees()) }()
						// Something that could be seen.
						_, err := newClient(t, v.connect(t, "bob").Conn, "build").Chat("bob-1").List(t.Context(), procmgr.ListRequest{})
						require.NoError(t, err)
					}
					require.NoError(t, attacker.Flush())
					require.Eventually(t, func() bool { return attacker.wasRefused(verb + ` to "` + subject + `"`) }, long, time.Millisecond)
					require.Equal(t, v.want, v.state(t))
				})
			}
		}
	}
}

// wasRefused reports whether the server has said so.
func (u *user) wasRefused(what string) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return strings.Contains(strings.Join(u.refused, "\n"), "Permissions Violation for "+what)
}

// A request whose subject is allowed, and which says something else itself, is
// refused by the machine.
func TestForgedRequests(t *testing.T) {
	v := newVictim(t)
	alice, operator := v.connect(t, "alice"), v.connect(t, "operator")
	own := "toolproc.build." + aliceChat + "."
	for _, tt := range []struct {
		name, subject string
		by            *user
		data          []byte
		status        int
	}{
		{"another chat", own + "list", alice, request(http.MethodPost, "/list", "bob-1", "{}"), 403},
		{"another chat, escaped", own + "list", alice, request(http.MethodPost, "/list", "bob%2D1", "{}"), 403},
		{"two chats", own + "list", alice, bytes.Replace(request(http.MethodPost, "/list", "alice-1", "{}"), []byte("Host:"), []byte("Toolproc-Chat-Id: bob-1\r\nHost:"), 1), 400},
		{"an empty chat", own + "list", alice, bytes.Replace(list, []byte("Host:"), []byte("Toolproc-Chat-Id: \r\nHost:"), 1), 400},
		{"another call", own + "list", alice, start, 403},
		{"the output of another chat's process", own + "output", alice, request(http.MethodPost, "/output", "", `{"id":"theirs"}`), 404},
		{"a start as the host", "toolproc.build._host.health", alice, start, 403},
		{"a list as the host", "toolproc.build._host.health", alice, list, 403},
		{"a chat by the health of the host", "toolproc.build._host.health", alice, request(http.MethodGet, "/health", "bob-1", ""), 403},
		{"a path that is none", "toolproc.build._host.health", alice, request(http.MethodGet, "/theirs/health", "", ""), 404},
		{"a path that climbs", "toolproc.build._host.health", alice, request(http.MethodGet, "/list/../health", "", ""), 404},
		{"an encoded slash", own + "list", alice, request(http.MethodGet, "/start%2Flist", "", ""), 403},
		{"no HTTP", own + "list", alice, []byte("hello"), 400},
		{"nothing", own + "list", alice, nil, 400},
		{"an answer", own + "start", alice, []byte("HTTP/1.1 200 OK\r\n\r\n"), 400},
		{"a chat that is no base32", "toolproc.build.alice-1.list", operator, list, 400},
		{"a chat in small letters", "toolproc.build." + strings.ToLower(bobChat) + ".list", operator, list, 400},
		{"another spelling of a chat", "toolproc.build." + aliceChat[:len(aliceChat)-1] + "H.list", operator, list, 400},
	} {
		t.Run(tt.name, func(t *testing.T) {
			msg, err := tt.by.Request(tt.subject, tt.data, long)
			require.NoError(t, err)
			res, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(msg.Data)), nil)
			require.NoError(t, err)
			defer res.Body.Close()
			body, err := io.ReadAll(res.Body)
			require.NoError(t, err)
			require.Equal(t, tt.status, res.StatusCode, "%s", body)
			require.NotEmpty(t, res.Header.Get("Toolproc-Instance"))
			require.NotContains(t, string(body), "secret")
			require.Equal(t, v.want, v.state(t))
		})
	}
}

// The server checks no permission for the reply subject. So a user who may ask anything
// could have others send what the user may not. (The server does refuse $JS subjects.)
func TestAnswersToOthers(t *testing.T) {
	v := newVictim(t)
	alice, gpu := v.connect(t, "alice"), v.connect(t, "gpu")
	js, err := jetstream.NewWithAPIPrefix(alice.Conn, "STORE")
	require.NoError(t, err)
	_, err = js.CreateConsumer(t.Context(), "TOOLPROC_ENDS", jetstream.ConsumerConfig{
		Durable: "alice", FilterSubject: procnats.EndsSubject("alice-1"), HeadersOnly: true,
	})
	require.NoError(t, err)
	mine := v.local.Chat("alice-1")
	out, err := mine.Start(t.Context(), procmgr.StartRequest{ID: "mine", Command: `printf 'POST /start HTTP/1.1\r\nHost: localhost\r\n\r\n{"command":"echo attacked"}'`, Wait: long})
	require.NoError(t, err)
	require.NotEmpty(t, out.Text)
	v.want.ends++
	require.Eventually(t, func() bool { return v.state(t).ends == v.want.ends }, long, time.Millisecond)

	for _, target := range []string{
		"$JS.API.STREAM.DELETE.TOOLPROC_ENDS", "STORE.STREAM.DELETE.TOOLPROC_ENDS",
		"$JS.API.STREAM.PURGE.TOOLPROC_ENDS", "$JS.API.STREAM.MSG.DELETE.TOOLPROC_ENDS",
		"$JS.API.STREAM.DELETE.KV_toolproc_places", "$JS.API.STREAM.PURGE.KV_toolproc_places",
		"$JS.API.CONSUMER.DELETE.TOOLPROC_ENDS.bob", "$JS.API.CONSUMER.MSG.NEXT.TOOLPROC_ENDS.bob",
		"$JS.ACK.TOOLPROC_ENDS.bob.1.1.1.1.0", "$KV.toolproc_places." + bobChat,
		"toolproc.build." + bobChat + ".start", "toolproc.build._host.start", "toolproc.ends.build." + bobChat,
	} {
		t.Run(target, func(t *testing.T) {
			for _, body := range []string{"", `{"batch":5,"no_wait":true}`, `{"batch":5,"expires":1000000}`} {
				require.NoError(t, alice.PublishRequest("STORE.CONSUMER.MSG.NEXT.TOOLPROC_ENDS.alice", target, []byte(body)))
			}
			require.NoError(t, alice.PublishRequest("STORE.CONSUMER.INFO.TOOLPROC_ENDS.alice", target, nil))
			require.NoError(t, alice.PublishRequest("STORE.CONSUMER.CREATE.TOOLPROC_ENDS.alice.toolproc.ends.*."+aliceChat, target, nil))
			for seq := range 3 {
				for _, ack := range []string{"+ACK", "", "+NXT"} {
					require.NoError(t, alice.PublishRequest(fmt.Sprintf("$JS.ACK.TOOLPROC_ENDS.alice.1.%d.%d.1.0", seq, seq), target, []byte(ack)))
				}
			}
			require.NoError(t, alice.PublishRequest("toolproc.build."+aliceChat+".output", target, request(http.MethodGet, "/mine/output", "", "")))
			require.NoError(t, alice.PublishRequest("toolproc.build._host.health", target, request(http.MethodGet, "/health", "", "")))
			require.NoError(t, alice.PublishRequest("toolproc.none."+aliceChat+".list", target, list))
			require.NoError(t, gpu.PublishRequest("toolproc.gpu._host.health", target, list))
			require.NoError(t, gpu.PublishRequest("toolproc.ends.gpu.X", target, []byte("no end")))
			if !strings.HasPrefix(target, "$JS.") { // the server itself refuses that
				v.want.ends++ // this one it may publish
			}
			for _, u := range []*nats.Conn{alice.Conn, gpu.Conn} {
				require.NoError(t, u.Flush())
			}
			// What was asked before is answered by now, and so are the answers.
			for range 3 {
				_, err = newClient(t, alice.Conn, "build").Chat("alice-1").List(t.Context(), procmgr.ListRequest{})
				require.NoError(t, err)
				require.Eventually(t, func() bool { return v.state(t).ends >= v.want.ends }, long, time.Millisecond)
			}
			require.Equal(t, v.want, v.state(t))
		})
	}
}

// A consumer has the filter and the name of the subject with which it is made.
func TestForeignConsumers(t *testing.T) {
	v := newVictim(t)
	alice := v.connect(t, "alice")
	own := "STORE.CONSUMER.CREATE.TOOLPROC_ENDS.alice.toolproc.ends.*." + aliceChat
	for name, config := range map[string]string{
		"another filter":    `{"name":"alice","durable_name":"alice","ack_policy":"explicit","filter_subject":"toolproc.ends.*.` + bobChat + `"}`,
		"several filters":   `{"name":"alice","durable_name":"alice","ack_policy":"explicit","filter_subjects":["toolproc.ends.*.` + bobChat + `","toolproc.ends.*.` + aliceChat + `"]}`,
		"no filter":         `{"name":"alice","durable_name":"alice","ack_policy":"explicit"}`,
		"another's name":    `{"name":"bob","durable_name":"bob","ack_policy":"explicit","filter_subject":"toolproc.ends.*.` + aliceChat + `"}`,
		"another's durable": `{"name":"alice","durable_name":"bob","ack_policy":"explicit","filter_subject":"toolproc.ends.*.` + aliceChat + `"}`,
	} {
		t.Run(name, func(t *testing.T) {
			msg, err := alice.Request(own, []byte(`{"stream_name":"TOOLPROC_ENDS","config":`+config+`}`), long)
			require.NoError(t, err)
			require.Contains(t, string(msg.Data), `"error"`)
			require.Equal(t, v.want, v.state(t))
		})
	}
	// A push consumer has the server send its messages to any subject of STORE, but
	// only if there is a subscription to exactly that subject, and there is none.
	for i, target := range []string{
		"$KV.toolproc_places." + bobChat, "toolproc.ends.build." + bobChat, "$JS.API.STREAM.DELETE.TOOLPROC_ENDS",
		"$JS.API.CONSUMER.DELETE.TOOLPROC_ENDS.bob", "$JS.API.CONSUMER.MSG.NEXT.TOOLPROC_ENDS.bob",
	} {
		_, err := alice.Request(own, []byte(`{"stream_name":"TOOLPROC_ENDS","config":{"name":"alice","durable_name":"alice","ack_policy":"none","headers_only":true,`+
			`"filter_subject":"toolproc.ends.*.`+aliceChat+`","deliver_subject":"`+target+`"}}`), long)
		require.NoError(t, err)
		run(t, v.local.Chat("alice-1"), fmt.Sprint("x", i), "true")
		v.want.ends++
		require.Eventually(t, func() bool { return v.state(t).ends == v.want.ends }, long, time.Millisecond)
		for range 50 { // what is pushed comes a moment later
			require.Equal(t, v.want, v.state(t), target)
		}
		_ = v.admin.DeleteConsumer(t.Context(), "TOOLPROC_ENDS", "alice") // it was not made on the second subject
	}
}

// A caller whose call the server refuses learns that at once, and that nothing
// has begun.
func TestRefused(t *testing.T) {
	f := newFleet(t)
	out, err := newClient(t, f.connect(t, "alice").Conn, "build").Chat("bob-1").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true", Wait: time.Hour})
	require.ErrorIs(t, err, procmgr.ErrRefused)
	require.ErrorContains(t, err, "the NATS server does not let this user call toolproc.build."+bobChat+".start")
	require.NotErrorIs(t, err, procmgr.ErrUnknown)
	require.Empty(t, out.Process.ID)
	_, err = newClient(t, f.connect(t, "alice").Conn, "build").List(t.Context(), procmgr.ListRequest{})
	require.ErrorIs(t, err, procmgr.ErrRefused)
	_, err = procnats.Serve(t.Context(), f.connect(t, "gpu").Conn, "build", newHandler(t, f.local), nil)
	require.Error(t, err, "gpu may not even ask whether there is a machine build")
}
