package procmgr_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
)

// Every method says that it cannot be done, in the form that Reason takes apart:
// also a method that a later version adds.
func TestUnsupported(t *testing.T) {
	const id = "my-id"
	m := reflect.ValueOf(procmgr.Unsupported{})
	methods := reflect.TypeFor[procmgr.Manager]()
	require.Equal(t, methods.NumMethod(), m.NumMethod())
	for i := range methods.NumMethod() {
		method := methods.Method(i)
		t.Run(method.Name, func(t *testing.T) {
			args := []reflect.Value{reflect.ValueOf(t.Context())}
			hasID := false
			for i := 1; i < method.Type.NumIn(); i++ {
				arg := reflect.New(method.Type.In(i)).Elem()
				switch {
				case arg.Type() == reflect.TypeFor[string]():
					arg.SetString(id)
					hasID = true
				case arg.Type() == reflect.TypeFor[procmgr.StartRequest]():
					arg.FieldByName("ID").SetString(id)
					hasID = true
				}
				args = append(args, arg)
			}
			results := m.MethodByName(method.Name).Call(args)
			err, _ := results[len(results)-1].Interface().(error)
			require.ErrorIs(t, err, errors.ErrUnsupported)
			call := "procmgr: " + strings.ToLower(method.Name)
			if hasID {
				call += ` "` + id + `"`
			}
			require.EqualError(t, err, call+": the manager cannot do this: "+errors.ErrUnsupported.Error())
			require.Equal(t, "the manager cannot do this", procmgr.Reason(err))
			for _, result := range results[:len(results)-1] {
				require.True(t, result.IsZero())
			}
		})
	}
}

// A numbered is a Host that tells its own view and its chats' views apart.
type numbered struct {
	procmgr.Unsupported
	shell string
}

func (n numbered) Describe(context.Context) (procmgr.Description, error) {
	return procmgr.Description{Shell: n.shell}, nil
}

func (n numbered) Chat(id string) procmgr.Manager { return numbered{shell: n.shell + "/" + id} }

// A marked is a Manager around another one, with a method of its own.
type marked struct {
	procmgr.Unsupported
	m    procmgr.Manager
	chat string
}

func (m marked) Describe(ctx context.Context) (procmgr.Description, error) {
	d, err := m.m.Describe(ctx)
	d.Shell = "<" + m.chat + ":" + d.Shell + ">"
	return d, err
}

func (m marked) Unwrap() procmgr.Manager { return m.m }

// The host's own view and each chat's view go through f.
func TestWrapHost(t *testing.T) {
	var wrapped []procmgr.Manager
	mark := func(chatID string, m procmgr.Manager) procmgr.Manager {
		wrapped = append(wrapped, m)
		return marked{m: m, chat: chatID}
	}
	described := func(m procmgr.Manager) string {
		t.Helper()
		d, err := m.Describe(t.Context())
		require.NoError(t, err)
		return d.Shell
	}
	h := numbered{shell: "h"}
	host := procmgr.WrapHost(h, mark)
	require.Equal(t, []procmgr.Manager{h}, wrapped, "once for the host")
	require.Equal(t, "<:h>", described(host))
	for range 2 {
		require.Equal(t, "<a:h/a>", described(host.Chat("a")))
	}
	require.Equal(t, "<:h/>", described(host.Chat("")))
	require.Len(t, wrapped, 4, "and once for each call of Chat")
	require.Equal(t, "<b:<b:h/b>>", described(procmgr.WrapHost(host, mark).Chat("b")))

	// Of the methods of the Manager that f has returned, the host has only Manager's
	// own.
	_, ok := host.(interface{ Unwrap() procmgr.Manager })
	require.False(t, ok)
	require.Equal(t, reflect.TypeFor[procmgr.Host]().NumMethod(), reflect.TypeOf(host).NumMethod())
	_, err := host.List(t.Context(), procmgr.ListRequest{})
	require.ErrorIs(t, err, errors.ErrUnsupported)
}
