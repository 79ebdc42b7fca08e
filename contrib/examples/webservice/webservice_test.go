//go:build unix

// Package main_test uses the service as its users do.
package main_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/sandbox"
	"github.com/toolproc/toolproc/procmgr/prockeep"
)

// program is the path of the service.
var program string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		dir, err := os.MkdirTemp("", "webservice")
		if err != nil {
			panic(err)
		}
		defer func() { _ = os.RemoveAll(dir) }()
		program = filepath.Join(dir, "webservice")
		if out, err := exec.Command("go", "build", "-o", program, ".").CombinedOutput(); err != nil {
			panic(string(out))
		}
		return m.Run()
	}())
}

// A deployment is a state directory, with the instances that use it.
type deployment struct {
	state  string
	tokens map[string]string // by user
	log    *os.File          // of all instances
}

func deploy(t *testing.T, quotas map[string]int) *deployment {
	d := &deployment{state: t.TempDir(), tokens: make(map[string]string)}
	users := make(map[string]any)
	for name, quota := range quotas {
		d.tokens[name] = rand.Text()
		sum := sha256.Sum256([]byte(d.tokens[name]))
		users[name] = map[string]any{"token_sha256": hex.EncodeToString(sum[:]), "max_running": quota}
	}
	data, err := json.Marshal(users)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(d.state, "users.json"), data, 0o600))
	d.log, err = os.Create(filepath.Join(t.TempDir(), "log"))
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		host, err := prockeep.Find(ctx, filepath.Join(d.state, "keeper"))
		require.NoError(t, err)
		require.NoError(t, host.Stop(ctx))
	})
	return d
}

// An instance is a running service.
type instance struct {
	*deployment
	url string
	cmd *exec.Cmd
}

func (d *deployment) start(t *testing.T, args ...string) *instance {
	in := &instance{deployment: d, cmd: exec.Command(program, append(args, "-state", d.state, "-listen", "127.0.0.1:0")...)}
	in.cmd.Env = append(os.Environ(), "PLAIN=of-the-service")
	in.cmd.Stderr = d.log
	before := len(d.logged(t))
	require.NoError(t, in.cmd.Start())
	t.Cleanup(func() {
		_ = in.cmd.Process.Signal(syscall.SIGTERM)
		_ = in.cmd.Wait()
	})
	listening := regexp.MustCompile(`"addr":"([^"]+)"`)
	require.Eventually(t, func() bool {
		found := listening.FindStringSubmatch(d.logged(t)[before:])
		if found != nil {
			in.url = "http://" + found[1]
		}
		return found != nil
	}, time.Minute, 10*time.Millisecond)
	return in
}

func (d *deployment) logged(t *testing.T) string {
	data, err := os.ReadFile(d.log.Name())
	require.NoError(t, err)
	return string(data)
}

func (in *instance) request(method, path, token, body string, header ...string) (*http.Response, error) {
	req, err := http.NewRequest(method, in.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+token)
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	return http.DefaultClient.Do(req)
}

// call makes a tool call as a user, and returns the fields of its result. A call that was
// cut off has none.
func (in *instance) call(user, id, tool string, arguments map[string]any) map[string]any {
	body, _ := json.Marshal(map[string]any{"id": id, "name": tool, "arguments": arguments})
	resp, err := in.request("POST", "/chats/"+user+"/calls", in.tokens[user], string(body))
	if err != nil {
		return nil
	}
	defer resp.Body.Close()
	var answer struct{ Content string }
	var fields map[string]any
	if json.NewDecoder(resp.Body).Decode(&answer) == nil {
		_ = json.Unmarshal([]byte(answer.Content), &fields)
	}
	return fields
}

func (in *instance) execute(user, id, command string, more ...string) map[string]any {
	arguments := map[string]any{"command": command, "timeout": "5m"}
	for _, name := range more {
		arguments[name] = true
	}
	return in.call(user, id, "execute", arguments)
}

// running counts the user's living processes.
func (in *instance) running(user string) (n int) {
	list, _ := in.call(user, "list", "process_list", nil)["processes"].([]any)
	for _, p := range list {
		if p.(map[string]any)["state"] == "running" {
			n++
		}
	}
	return n
}

// file waits for a file of a user.
func (d *deployment) file(t *testing.T, user, name string) (text string) {
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(filepath.Join(d.state, "files", user, name))
		text = string(data)
		return err == nil && text != ""
	}, time.Minute, 10*time.Millisecond)
	return text
}

func TestManyUsers(t *testing.T) {
	quotas := map[string]int{"operator": 1}
	for i := range 50 {
		quotas[fmt.Sprintf("user-%d", i)] = 3
	}
	d := deploy(t, quotas)
	in := d.start(t)
	var all sync.WaitGroup
	results := make([]map[string]any, 50)
	for i := range results {
		all.Go(func() {
			user := fmt.Sprintf("user-%d", i)
			in.execute(user, "server", "exec sleep 1000 # "+user, "run_in_background")
			results[i] = in.execute(user, "ls", "pwd; echo >of-"+user+"; ls; env")
			results[i]["list"] = in.call(user, "list", "process_list", nil)["processes"]
		})
	}
	all.Wait()
	for i, res := range results {
		user := fmt.Sprintf("user-%d", i)
		require.True(t, strings.HasPrefix(res["output"].(string), filepath.Join(d.state, "files", user)+"\nof-"+user+"\n"), res["output"])
		require.NotContains(t, res["output"], "of-the-service")
		list, err := json.Marshal(res["list"])
		require.NoError(t, err)
		require.Len(t, res["list"], 2, "%s", list)
		require.Contains(t, string(list), "sleep 1000 # "+user+`"`)
		require.Contains(t, d.logged(t), `"chat_id":"`+user+`"`)
		require.NotContains(t, res["output"], in.tokens[user])
	}

	t.Run("tokens", func(t *testing.T) {
		for name, path := range map[string]string{
			"user-2":   "/chats/user-1/calls", // another user's
			"wrong":    "/chats/user-1/calls",
			"user-1":   "/metrics",
			"":         "/chats/nobody/calls",
			"operator": "/chats/user-1/stop",
		} {
			method := "POST"
			if path == "/metrics" {
				method = "GET"
			}
			resp, err := in.request(method, path, in.tokens[name], `{"id":"1","name":"process_list","arguments":{}}`)
			require.NoError(t, err)
			resp.Body.Close()
			require.Equal(t, http.StatusUnauthorized, resp.StatusCode, name)
		}
	})

	t.Run("quota", func(t *testing.T) {
		for i := range 4 {
			res := in.execute("user-1", fmt.Sprint("q", i), "exec sleep 1000", "run_in_background")
			require.Equal(t, i < 2, res["success"], "%v", res) // with the server, 3 run
		}
		require.Equal(t, true, in.execute("user-2", "q", "true")["success"])
	})

	t.Run("stop", func(t *testing.T) {
		answers := make(chan map[string]any, 2)
		for _, user := range []string{"user-3", "user-4"} {
			go func() {
				res := in.execute(user, "foreground", "echo >begun; exec sleep 1000")
				answers <- map[string]any{user: res["error"]}
			}()
			d.file(t, user, "begun")
		}
		for i, user := range []string{"user-3", "user-4"} {
			require.Equal(t, 2, in.running("user-4"))
			resp, err := in.request("POST", "/chats/"+user+"/stop", in.tokens[user], "")
			require.NoError(t, err)
			resp.Body.Close()
			require.Equal(t, http.StatusOK, resp.StatusCode)
			answer := <-answers
			require.Contains(t, answer[user], "stopped by the user", "%d", i)
			require.Equal(t, 1, in.running(user), "the server goes on")
		}
	})

	t.Run("metrics", func(t *testing.T) {
		want := map[string]int{"started": 105, "exited_exit": 51, "exited_request": 2, "refused": 2}
		counts := make(map[string]int)
		require.Eventually(t, func() bool {
			resp, err := in.request("GET", "/metrics", in.tokens["operator"], "")
			require.NoError(t, err)
			defer resp.Body.Close()
			return json.NewDecoder(resp.Body).Decode(&counts) == nil && maps.Equal(want, counts)
		}, time.Minute, 50*time.Millisecond, "%v", counts)
		for user, token := range in.tokens {
			require.NotContains(t, d.logged(t), token, user)
		}
	})
}

// A deploy starts a second instance and kills the first one, which could have crashed too.
func TestRedeploy(t *testing.T) {
	d := deploy(t, map[string]int{"alice": 3, "bob": 3})
	first := d.start(t)
	const server = `echo . >>starts; i=0; while sleep 0.02; do i=$((i+1)); echo tick $i; done`
	first.execute("alice", "server", server, "run_in_background")
	cut := make(chan map[string]any)
	const build = `echo . >>builds; while ! test -e go; do sleep 0.02; done; echo built`
	go func() { cut <- first.execute("alice", "build", build) }()
	d.file(t, "alice", "builds")
	text, id := first.stream(t, "alice", "server", "0")

	second := d.start(t, "-replace")
	require.NoError(t, first.cmd.Process.Kill())
	require.Nil(t, <-cut)

	more, _ := second.stream(t, "alice", "server", id)
	i := 0
	for line := range strings.Lines(text + more) {
		i++
		require.Equal(t, fmt.Sprintf("tick %d\n", i), line)
	}
	require.Equal(t, 2, second.running("alice"))
	require.NotEmpty(t, second.execute("alice", "server", server, "run_in_background")["process_id"])
	done := make(chan map[string]any)
	go func() { done <- second.execute("alice", "build", build) }() // sent again
	require.Equal(t, true, second.execute("alice", "go", "echo >go")["success"])
	require.Contains(t, (<-done)["output"], "built")
	require.Equal(t, ".\n", d.file(t, "alice", "starts"))
	require.Equal(t, ".\n", d.file(t, "alice", "builds"))

	// The server in the old keeper counts for the quota.
	for i := range 3 {
		res := second.execute("alice", fmt.Sprint("q", i), "exec sleep 1000", "run_in_background")
		require.Equal(t, i < 2, res["success"], "%v", res)
	}
	require.Equal(t, true, second.execute("bob", "q", "true")["success"])
}

// stream reads events of a call until they have some lines, and returns their text and the
// last ID.
func (in *instance) stream(t *testing.T, user, call, from string) (text, id string) {
	resp, err := in.request("GET", "/chats/"+user+"/calls/"+call+"/output", in.tokens[user], "", "Last-Event-ID", from)
	require.NoError(t, err)
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); strings.Count(text, "\n") < 5; {
		require.True(t, lines.Scan(), "%v", lines.Err())
		if field, value, _ := strings.Cut(lines.Text(), ": "); field == "id" {
			id = value
		} else if field == "data" {
			var part string
			require.NoError(t, json.Unmarshal([]byte(value), &part))
			text += part
		}
	}
	return text, id
}

// In a sandbox a chat reaches no other chat's files, no keeper and no list of users.
func TestSandbox(t *testing.T) {
	box, err := sandbox.New(sandbox.Policy{Level: sandbox.Boundary})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	require.NoError(t, err)
	require.NoError(t, box.Close())
	t.Setenv("TMPDIR", "/var/tmp") // commands have a /tmp of their own, which has nothing to hide
	d := deploy(t, map[string]int{"alice": 2, "bob": 2})
	in := d.start(t, "-sandbox")
	require.Equal(t, true, in.execute("bob", "1", "echo bob >secret; cat secret")["success"])
	for _, command := range []string{"cat ../bob/secret", "echo >../bob/new", "ls ../../keeper/ids", "cat ../../users.json"} {
		require.Equal(t, false, in.execute("alice", command, command)["success"], command)
	}
	require.Equal(t, "alice\n", in.execute("alice", "2", "echo alice >secret; cat secret")["output"])
}
