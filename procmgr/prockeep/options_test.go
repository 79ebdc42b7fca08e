//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/charmap"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A function cannot be passed to another program, and is not dropped in silence.
func TestFunctionsAreRefused(t *testing.T) {
	all := map[string]proclocal.Options{
		"UpdateEnv": {UpdateEnv: func(env []string) ([]string, error) { return env, nil }},
		"WorkDir":   {WorkDir: func() string { return "/" }},
		"OnStart":   {OnStart: func(procmgr.Process) {}},
		"OnExit":    {OnExit: func(procmgr.Process) {}},
		"Metrics":   {Metrics: &proclocal.Metrics{}},
		"Logger":    {Logger: slog.Default()},
		"Encoding":  {Encoding: charmap.CodePage850},
	}
	for name, local := range all {
		_, err := prockeep.Open(t.Context(), newDir(t), &prockeep.Options{Local: local})
		require.ErrorIs(t, err, procmgr.ErrInvalid, name)
		require.ErrorContains(t, err, "Options.Local."+name+" is or has a function")
	}
	fields := reflect.TypeFor[proclocal.Options]()
	for i := range fields.NumField() {
		f := fields.Field(i)
		if _, tested := all[f.Name]; !tested && f.Name != "Sandbox" { // see TestSandboxWithoutAMaker
			require.NotContains(t, []reflect.Kind{reflect.Func, reflect.Pointer, reflect.Interface, reflect.Chan}, f.Type.Kind(), f.Name)
		}
	}
}

// A keeper can do all that a client can, and so can its chats.
func TestCapabilities(t *testing.T) {
	client := reflect.TypeFor[*prochttp.Client]()
	k := open(t, newDir(t), nil)
	for i := range client.NumMethod() {
		name := client.Method(i).Name
		if name == "OfKeeper" { // it is for the keeper
			continue
		}
		_, ok := reflect.TypeOf(k).MethodByName(name)
		require.True(t, ok, name)
		if name == "Close" || name == "Chat" {
			continue
		}
		_, ok = reflect.TypeOf(k.Chat("a")).MethodByName(name)
		require.True(t, ok, "a chat's %s", name)
	}
}

// Options are those of the program that started the keeper.
func TestOptions(t *testing.T) {
	dir := newDir(t)
	t.Chdir(t.TempDir())
	first := prockeep.Options{
		Local: proclocal.Options{Shell: []string{"sh", "-c"}, Head: 10, Tail: 20, Retain: time.Minute, MaxRunning: -1, LogDir: "logs", RawOutput: true},
		Idle:  time.Minute,
	}
	k := open(t, dir, &first)
	wd, err := os.Getwd()
	require.NoError(t, err)
	first.Local.LogDir = filepath.Join(wd, "logs")
	require.Equal(t, first, k.Options())
	second := open(t, dir, &prockeep.Options{Local: proclocal.Options{Head: 99}})
	require.Equal(t, first, second.Options())

	out := run(t, second, `printf 'a\rb\n'`)
	require.Equal(t, "a\rb\n", out.Text)
	require.Equal(t, filepath.Join(wd, "logs"), filepath.Dir(filepath.Dir(out.Process.LogPath)))
	machine, err := second.Chat("a").Describe(t.Context())
	require.NoError(t, err)
	require.Equal(t, "sh", machine.Shell)

	second.Options().Local.Shell[0] = "changed"
	require.Equal(t, first, second.Options())
}

func TestRequire(t *testing.T) {
	dir := newDir(t)
	open(t, dir, &prockeep.Options{Local: proclocal.Options{Tail: 20, Shell: []string{"sh", "-c"}}})
	for name, test := range map[string]struct {
		local   proclocal.Options
		require []string
		want    error
		names   string
	}{
		"they agree":          {proclocal.Options{Tail: 20, Shell: []string{"sh", "-c"}, Head: 5}, []string{"Tail", "Shell", "LogDir"}, nil, ""},
		"another value":       {proclocal.Options{Tail: 21}, []string{"Tail"}, procmgr.ErrConflict, "Local.Tail"},
		"it is not set":       {proclocal.Options{}, []string{"Shell"}, procmgr.ErrConflict, "Local.Shell"},
		"the keeper has none": {proclocal.Options{Retain: time.Hour}, []string{"Tail", "Retain"}, procmgr.ErrConflict, "Local.Tail"},
		"unknown":             {proclocal.Options{}, []string{"tail"}, procmgr.ErrInvalid, `"tail"`},
	} {
		t.Run(name, func(t *testing.T) {
			k, err := prockeep.Open(t.Context(), dir, &prockeep.Options{Local: test.local, Require: test.require})
			require.ErrorIs(t, err, test.want)
			if test.want == nil {
				require.NoError(t, k.Close())
			} else {
				require.ErrorContains(t, err, test.names)
			}
		})
	}
}

// Options that cannot work are an error of Open, and leave no keeper behind.
func TestOptionsOfNoUse(t *testing.T) {
	dir := newDir(t)
	require.NoError(t, os.Mkdir(dir, 0o700))
	file := filepath.Join(dir, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err := prockeep.Open(t.Context(), dir, &prockeep.Options{Local: proclocal.Options{LogDir: file}})
	require.Error(t, err)
	require.NoFileExists(t, filepath.Join(dir, "keeper"))
	open(t, dir, nil)
}

// A keeper of another version goes on, and the error names both versions.
func TestIncompatible(t *testing.T) {
	dir := newDir(t)
	serveAsKeeper(t, dir, map[string]any{"protocol": 99, "pid": 4711, "options": "of another form"})
	_, err := prockeep.Open(t.Context(), dir, nil)
	require.ErrorIs(t, err, prockeep.ErrIncompatible)
	require.ErrorContains(t, err, "speaks protocol 99 and this program protocol 1")
}

func TestServerThatIsNoKeeper(t *testing.T) {
	for name, status := range map[string]any{"no status": "?", "another machine": map[string]any{"protocol": 1, "boot": "another"}} {
		t.Run(name, func(t *testing.T) {
			dir := newDir(t)
			serveAsKeeper(t, dir, status)
			_, err := prockeep.Open(t.Context(), dir, nil)
			require.ErrorIs(t, err, procmgr.ErrInvalid)
		})
	}
}

// serveAsKeeper serves the status of a keeper.
func serveAsKeeper(t *testing.T, dir string, status any) {
	t.Helper()
	require.NoError(t, os.Mkdir(dir, 0o700))
	l, err := prochttp.ListenUnix(filepath.Join(dir, "keeper"))
	require.NoError(t, err)
	serve(t, l, func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(status) })
}

func serve(t *testing.T, l net.Listener, f http.HandlerFunc) {
	t.Helper()
	server := &http.Server{Handler: f, ReadHeaderTimeout: long}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	t.Cleanup(func() {
		require.NoError(t, server.Close())
		require.ErrorIs(t, <-done, http.ErrServerClosed)
	})
}

// A full log is moved away, and the last words of the program go to the new one.
func TestLogIsBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keeper.log")
	log := prockeep.OpenLog(t, path)
	line := fmt.Sprintf("%0999d\n", 1)
	for range 2000 {
		n, err := log.Write([]byte(line))
		require.NoError(t, err)
		require.Equal(t, len(line), n)
	}
	for _, name := range []string{path, path + ".old"} {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.LessOrEqual(t, info.Size(), int64(prockeep.MaxLog))
		require.Positive(t, info.Size())
	}
	_, err := os.Stat(path + ".old.old")
	require.ErrorIs(t, err, os.ErrNotExist)
}

// A told is a Sandbox whose JSON can be passed on.
type told struct{}

func (told) Argv(argv []string) ([]string, error) { return argv, nil }
func (told) OnThread(start func() error) error    { return start() }
func (told) Rules() procmgr.SandboxRules          { return procmgr.SandboxRules{} }
func (told) MarshalJSON() ([]byte, error)         { return []byte("{}"), nil }

// Only a keeper whose Main has a function for it can have a sandbox.
func TestSandboxWithoutAMaker(t *testing.T) {
	for name, box := range map[string]proclocal.Sandbox{"no maker": told{}, "no JSON": struct{ proclocal.Sandbox }{told{}}} {
		t.Run(name, func(t *testing.T) {
			_, err := prockeep.Open(t.Context(), t.TempDir(), &prockeep.Options{Local: proclocal.Options{Sandbox: box}})
			require.ErrorIs(t, err, procmgr.ErrInvalid)
			require.ErrorContains(t, err, "Options.Local.Sandbox")
		})
	}
}
