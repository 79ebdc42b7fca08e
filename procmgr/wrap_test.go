package procmgr_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
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

// The host's own view and each chat's view go through f, and have no method that f's
// Manager has beside Manager's own.
func TestWrapHost(t *testing.T) {
	local, err := proclocal.New(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, local.Close()) })
	var wrapped []string
	wrap := func(chatID string, m procmgr.Manager) procmgr.Manager {
		wrapped = append(wrapped, chatID)
		return guard{next: m}
	}
	host := procmgr.WrapHost(local, wrap)
	require.Equal(t, []string{""}, wrapped, "once for the host")
	for _, m := range []procmgr.Manager{host, host.Chat("a"), host.Chat("a"), procmgr.WrapHost(host, wrap).Chat("b")} {
		_, err := m.Start(t.Context(), procmgr.StartRequest{Command: "git push"})
		require.ErrorIs(t, err, procmgr.ErrRefused)
	}
	require.Equal(t, []string{"", "a", "a", "", "b", "b"}, wrapped, "and once for each call of Chat")
	_, err = host.Chat("a").Start(t.Context(), procmgr.StartRequest{ID: "x", Command: "true", Wait: time.Minute})
	require.NoError(t, err)
	_, err = local.Chat("a").Output(t.Context(), "x", procmgr.OutputRequest{})
	require.NoError(t, err)
	require.Equal(t, reflect.TypeFor[procmgr.Host]().NumMethod(), reflect.TypeOf(host).NumMethod())
}
