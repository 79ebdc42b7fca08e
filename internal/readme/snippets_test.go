//go:build unix

package readme_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
	"github.com/toolproc/toolproc/procmgr/procroute"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// scratch is a directory for the programs of pages.
var scratch string

// TestMain lets the test binary play the program of docs/keeper.md, and its keeper.
func TestMain(m *testing.M) {
	prockeep.Main()
	if dir != "" {
		main()
		os.Exit(0)
	}
	var err error
	if scratch, err = os.MkdirTemp("", ""); err != nil {
		log.Fatal(err)
	}
	code := m.Run()
	os.RemoveAll(scratch)
	os.Exit(code)
}

// README.md

func TestFirstCall(t *testing.T) {
	ctx := t.Context()
	manager, err := proclocal.New(nil) // runs commands on this machine
	require.NoError(t, err)
	defer manager.Close() // ends everything that still runs

	set, err := toolset.New(toolset.Static(manager.Chat("chat-1")), nil)
	require.NoError(t, err)
	tools := set.Definitions() // names, descriptions and JSON schemas, for your model

	// When the model calls a tool:
	res := set.Call(ctx, toolset.Call{Name: "execute", Arguments: json.RawMessage(`{"command":"echo it runs"}`)})
	fmt.Println(res.Content) // what the model reads
	require.Contains(t, res.Content, `"output":"it runs\n"`)
	require.Len(t, tools, 4)
}

// docs/keeper.md

var dir = os.Getenv("README_KEEPER")

func main() {
	prockeep.Main() // first: if this program was started as the keeper, it becomes it here
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	host, err := prockeep.Open(ctx, dir, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer host.Close()
	out, err := host.Chat("chat-42").Start(ctx, procmgr.StartRequest{ID: "web-1", Command: "exec sleep 1000", Wait: time.Second})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("started before: %t, now it is %s\n", out.Attached, out.Process.State)
}

// shortDir returns a directory whose name is short enough for a socket in it.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "k") //nolint:usetesting // the name of t.TempDir is too long
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return dir
}

func TestKeeper(t *testing.T) {
	dir := shortDir(t)
	says := func(want string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = append(os.Environ(), "README_KEEPER="+dir)
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Equal(t, want, string(out))
	}
	says("started before: false, now it is running\n")
	says("started before: true, now it is running\n")
	host, err := prockeep.Find(t.Context(), dir)
	require.NoError(t, err)
	// The page says how to stop the server.
	require.NoError(t, host.Chat("chat-42").Signal(t.Context(), "web-1", procmgr.Terminate))
	_, err = host.Chat("chat-42").Output(t.Context(), "web-1", procmgr.OutputRequest{Wait: long})
	require.NoError(t, err)
	says("started before: true, now it is exited\n")
	require.NoError(t, host.Stop(t.Context()))
}

// docs/recipes.md

func TestTokenOfEachChat(t *testing.T) {
	tokenOf := func(chat string) string { return "s3cr3t0f" + chat + "0123456789" }
	manager, err := proclocal.New(&proclocal.Options{
		PerChat: func(ctx context.Context, chatID string) (*proclocal.ChatOptions, error) {
			return &proclocal.ChatOptions{Env: &envpolicy.Policy{
				Set: map[string]string{"GITHUB_TOKEN": tokenOf(chatID)},
			}}, nil
		},
	})
	require.NoError(t, err)
	require.Equal(t, "[withheld: GITHUB_TOKEN] 23\n", run(t, manager, "echo $GITHUB_TOKEN ${#GITHUB_TOKEN}"))
}

// run runs a command of alice's, and closes the manager.
func run(t *testing.T, manager *proclocal.Local, command string) string {
	t.Helper()
	out, err := manager.Chat("alice").Start(t.Context(), procmgr.StartRequest{Command: command, Wait: long})
	require.NoError(t, err)
	require.NoError(t, manager.Close())
	return out.Text
}

func agent(ctx context.Context, set *toolset.Set) {
	for range 3 {
		res := set.Call(ctx, toolset.Call{Name: "execute", Arguments: json.RawMessage(`{"command":"make test","timeout":"2h"}`)})
		if res.Report.ExitCode != nil && *res.Report.ExitCode == 0 {
			return
		}
	}
}

func TestAgent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		host := proctest.NewScript()
		defer host.Close()
		host.On("make test",
			func(c *proctest.Command) int { // the first time
				fmt.Fprintln(c, "compiling")
				c.Sleep(time.Hour)
				fmt.Fprintln(c, "FAIL: TestTotal")
				return 2
			},
			proctest.Prints("PASS\n", 0)) // from then on

		// Your agent, with a model whose answers are written down:
		set, err := toolset.New(toolset.Static(host.Chat("chat-1")), nil)
		if err != nil {
			t.Fatal(err)
		}
		agent(t.Context(), set)

		if n := len(host.Started()); n != 2 {
			t.Errorf("the agent ran the tests %d times, and not until they pass", n)
		}
	})
}

// docs/processes.md

func TestOwnCgroup(t *testing.T) {
	if _, err := os.Stat("/proc/self/cgroup"); err != nil {
		testenv.Lacks(t, "linux", "there are no cgroups: %v", err)
	}
	var opts proclocal.Options
	text, err := os.ReadFile("/proc/self/cgroup") // 0::/system.slice/agent.service
	require.NoError(t, err)
	_, own, _ := strings.Cut(string(text), "0::")
	own, _, _ = strings.Cut(own, "\n")
	opts.Cgroup = filepath.Join("/sys/fs/cgroup", own)
	require.Contains(t, "\n"+string(text), "\n0::"+strings.TrimPrefix(opts.Cgroup, "/sys/fs/cgroup"))
}

func TestNice(t *testing.T) {
	testenv.Programs(t, "nice", "choom")
	manager, err :=
		proclocal.New(&proclocal.Options{
			Shell: []string{"nice", "-n", "10", "choom", "-n", "500", "--", "bash", "-c"},
		})
	require.NoError(t, err)
	out, err := exec.CommandContext(t.Context(), "nice").Output()
	require.NoError(t, err)
	own, err := strconv.Atoi(strings.TrimSpace(string(out)))
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%d\n500\n", min(own+10, 19)), run(t, manager, "nice; cat /proc/self/oom_score_adj"))
}

func TestBwrap(t *testing.T) {
	if out, err := exec.CommandContext(t.Context(), "bwrap", "--ro-bind", "/", "/", "--unshare-pid", "true").CombinedOutput(); err != nil {
		testenv.Lacks(t, "bwrap", "it is not there, or may not make namespaces here: %v\n%s", err, out)
	}
	project := t.TempDir()
	manager, err :=
		proclocal.New(&proclocal.Options{
			Shell: []string{
				"bwrap", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp",
				"--bind", project, project, "--unshare-pid", "bash", "-c",
			},
			WorkDir: project,
		})
	require.NoError(t, err)
	text := run(t, manager, "pwd; echo written > inside; echo no > /outside")
	require.True(t, strings.HasPrefix(text, project+"\n"), text)
	require.Contains(t, text, "Read-only file system")
	require.FileExists(t, filepath.Join(project, "inside"))
}

// docs/security.md

// users has the name of each user that may run commands, by the hash of the
// user's token. The time of a look-up by a hash tells nothing of the token.
var users map[[sha256.Size]byte]string

func authorize(r *http.Request) (prochttp.Scope, error) {
	token, isBearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	user, known := users[sha256.Sum256([]byte(token))]
	if !isBearer || !known {
		return prochttp.Scope{}, errors.New("unknown token") // for the log; the caller gets a 401
	}
	return prochttp.Scope{
		// Alice's chats are "alice/1", "alice/2" and so on. No name has a slash.
		Chats: func(chat string) bool { return strings.HasPrefix(chat, user+"/") },
	}, nil
}

func TestAuthorize(t *testing.T) {
	users = map[[sha256.Size]byte]string{sha256.Sum256([]byte("hers")): "alice"}
	handler, err := prochttp.NewHandler(proctest.NewScript(), &prochttp.HandlerOptions{Authorize: authorize})
	require.NoError(t, err)
	server := httptest.NewServer(handler)
	defer server.Close()
	for _, tt := range []struct {
		token, chat string
		allowed     bool
	}{{"hers", "alice/1", true}, {"hers", "bob/1", false}, {"hers", "alice", false}, {"hers", "", false}, {"none", "alice/1", false}} {
		client, err := prochttp.NewClient(server.URL, &prochttp.ClientOptions{Token: tt.token})
		require.NoError(t, err)
		manager := procmgr.Manager(client)
		if tt.chat != "" {
			manager = client.Chat(tt.chat)
		}
		_, err = manager.List(t.Context(), procmgr.ListRequest{})
		require.Equal(t, tt.allowed, err == nil, "%v: %v", tt, err)
		require.NoError(t, client.Close())
	}
}

// docs/remote.md

func connect(ctx context.Context, url string) error {
	token, err := os.ReadFile("keys/token")
	if err != nil {
		return err
	}
	cert, err := os.ReadFile("keys/cert.pem")
	if err != nil {
		return err
	}
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM(cert)
	client, err := prochttp.NewClient(url, &prochttp.ClientOptions{
		Token: strings.TrimSpace(string(token)),
		TLS:   &tls.Config{RootCAs: trusted}, // nil with a certificate of a known authority
	})
	if err != nil {
		return err
	}
	defer client.Close()
	_, err = client.Describe(ctx) // finds a wrong token here, before the model does
	if err != nil {
		return err
	}
	set, err := toolset.New(toolset.Static(client.Chat("chat-1")), nil)
	if err != nil {
		return err
	}
	res := set.Call(ctx, toolset.Call{Name: "execute", Arguments: json.RawMessage(`{"command":"echo far away"}`)})
	if res.Output == nil || res.Output.Text != "far away\n" {
		return errors.New(res.Content)
	}
	return nil
}

func serve(local *proclocal.Local, token, address string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	handler, err := prochttp.NewHandler(local, &prochttp.HandlerOptions{
		Token:   token,
		Hosts:   []string{"build.example"},
		Context: ctx,
	})
	if err != nil {
		return err
	}
	server := &http.Server{
		Addr:              address,
		Handler:           handler,
		ReadHeaderTimeout: 10 * time.Second,
		ReadTimeout:       30 * time.Second,
		WriteTimeout:      30 * time.Second,
		IdleTimeout:       2 * time.Minute,
	}
	served := make(chan error, 1)
	go func() { served <- server.ListenAndServe() }()
	select {
	case err = <-served: // it could not listen
	case <-ctx.Done():
		late, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		err = server.Shutdown(late)
	}
	err = errors.Join(err, local.Close())
	return err
}

// startServing runs the page's server. stop ends it while a client waits for a command: the
// client is answered.
func startServing(t *testing.T, token string) (address string, stop func(*prochttp.Client)) {
	t.Helper()
	local, err := proclocal.New(nil)
	require.NoError(t, err)
	at := freeAddress(t)
	ended := make(chan error, 1)
	go func() { ended <- serve(local, token, at) }()
	awaitListener(t, at)
	return at, func(client *prochttp.Client) {
		out, err := client.Chat("chat-1").Start(t.Context(), procmgr.StartRequest{ID: "npc5orns6a", Command: "sleep 1000"})
		require.NoError(t, err)
		require.Equal(t, procmgr.Running, out.Process.State)
		time.AfterFunc(50*time.Millisecond, func() { _ = syscall.Kill(os.Getpid(), syscall.SIGTERM) })
		out, err = client.Chat("chat-1").Output(t.Context(), "npc5orns6a", procmgr.OutputRequest{Wait: long})
		require.NoError(t, err)
		require.Equal(t, procmgr.Running, out.Process.State)
		require.NoError(t, <-ended)
		require.ErrorIs(t, syscall.Kill(out.Process.PID, 0), syscall.ESRCH)
	}
}

// freeAddress returns an address without a listener.
func freeAddress(t *testing.T) string {
	t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer free.Close()
	return free.Addr().String()
}

// awaitListener waits until something listens.
func awaitListener(t *testing.T, address string) {
	t.Helper()
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
		}
		return err == nil
	}, long, 5*time.Millisecond, "nothing listens")
}

func TestNoSuchWay(t *testing.T) {
	client, err := prochttp.NewClient("http://localhost", &prochttp.ClientOptions{
		Dial: prochttp.Command("no-such-way", "-T", "-o", "BatchMode=yes", "build", "toolprocd", "stdio"),
	})
	require.NoError(t, err)
	defer client.Close()
	_, err = client.List(t.Context(), procmgr.ListRequest{})
	require.ErrorContains(t, err, `run "no-such-way -T -o BatchMode=yes build toolprocd stdio"`)
}

type router map[string]procmgr.Host

func (r router) Host(context.Context, string) (procmgr.Host, error) { return r["good"], nil }

func (r router) Hosts(context.Context) (map[string]procmgr.Host, error) { return r, nil }

func list(ctx context.Context, route procmgr.Host, show func([]procmgr.Process)) error {
	page, err := route.List(ctx, procmgr.ListRequest{})
	var partial *procmgr.PartialError
	if errors.As(err, &partial) {
		for name, why := range partial.Missing {
			log.Print("no answer from ", name, ": ", why)
		}
	} else if err != nil {
		return err
	}
	show(page.Processes)
	return nil
}

func TestPartialList(t *testing.T) {
	dead, err := prochttp.NewClient("unix:///no/such/socket", &prochttp.ClientOptions{Retry: -1})
	require.NoError(t, err)
	defer dead.Close()
	var said strings.Builder
	log.SetOutput(&said)
	defer log.SetOutput(os.Stderr)
	route := procroute.New(router{"good": proctest.NewScript(), "build-2": dead}, nil)
	require.NoError(t, list(t.Context(), route, func(all []procmgr.Process) { require.Empty(t, all) }))
	require.Contains(t, said.String(), "no answer from build-2: prochttp: list: the server cannot be reached")
}
