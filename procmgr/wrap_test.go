package procmgr_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Every method says that it cannot be done, in the form that Reason takes apart.
func TestUnsupported(t *testing.T) {
	var m procmgr.Unsupported
	_, start := m.Start(t.Context(), procmgr.StartRequest{ID: "my-id"})
	_, output := m.Output(t.Context(), "my-id", procmgr.OutputRequest{})
	_, input := m.Input(t.Context(), "my-id", procmgr.InputRequest{})
	_, list := m.List(t.Context(), procmgr.ListRequest{})
	_, events := m.Events(t.Context(), procmgr.EventsRequest{})
	_, describe := m.Describe(t.Context())
	for call, err := range map[string]error{
		`start "my-id"`: start, `output "my-id"`: output, `input "my-id"`: input, `signal "my-id"`: m.Signal(t.Context(), "my-id", procmgr.Kill),
		"list": list, "events": events, "describe": describe,
	} {
		require.ErrorIs(t, err, errors.ErrUnsupported)
		require.EqualError(t, err, "procmgr: "+call+": the manager cannot do this: "+errors.ErrUnsupported.Error())
		require.Equal(t, "the manager cannot do this", procmgr.Reason(err))
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
