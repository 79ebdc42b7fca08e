package proclocal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// withholding returns a Local that withholds some variables, and no others.
func withholding(t *testing.T, opts proclocal.Options, names ...string) *proclocal.Local {
	for _, name := range names {
		t.Setenv(name, "hidden")
	}
	opts.Env = envpolicy.Policy{Allow: []string{"*"}, Exclude: names}
	return newLocal(t, &opts)
}

// A variable is named if the command, or the output of a failed one, names it. Most
// failures have nothing to do with the variables that were withheld.
func TestWithheldNames(t *testing.T) {
	const mine, other, given = "MY_API_TOKEN", "OTHER_API_TOKEN", "GIVEN_API_TOKEN"
	l := withholding(t, proclocal.Options{UpdateEnv: func(env []string) ([]string, error) {
		return append(env, given+"=given"), nil
	}}, mine, other, given)
	type command struct {
		text string
		want []string
	}
	for _, tt := range []struct {
		name     string
		commands []command // of one chat
	}{
		{"nothing mentions it", []command{{"exit 3", nil}, {"ls /no/such/file", nil}, {"true", nil}}},
		{"the command mentions one", []command{{"exit 3$MY_API_TOKEN", []string{mine}}, {"exit 3", nil}}},
		{"a command that succeeds mentions one", []command{{"echo $MY_API_TOKEN", []string{mine}}, {"exit 3", nil}}},
		{"the output names one", []command{{"x=MY_API_; echo ${x}TOKEN is not set; exit 3", []string{mine}}}},
		{"both name one", []command{{"x=MY_API_; echo ${x}TOKEN; exit 3$OTHER_API_TOKEN", []string{mine, other}}, {"exit 3", nil}}},
		{"named again", []command{{"exit 3$MY_API_TOKEN", []string{mine}}, {"exit 3$MY_API_TOKEN", []string{mine}}}},
		{"the output of one that succeeds", []command{{"x=MY_API_; echo ${x}TOKEN", nil}}},
		{"another name", []command{{"exit 3$MY_API_TOKENS$xMY_API_TOKEN", nil}}},
		{"in braces", []command{{"echo ${MY_API_TOKEN:-none}; exit", []string{mine}}}},
		{"without a dollar", []command{{"printenv MY_API_TOKEN", []string{mine}}}},
		{"all of them", []command{{"env", nil}}},
		{"one that UpdateEnv gives", []command{{"echo $GIVEN_API_TOKEN", nil}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, c := range tt.commands {
				out := start(t, l.Chat(tt.name), procmgr.StartRequest{Command: c.text, Wait: long})
				require.Equal(t, procmgr.Exited, out.Process.State)
				require.Equal(t, c.want, out.Withheld, c.text)
				again := output(t, l.Chat(tt.name), out.Process.ID, procmgr.OutputRequest{})
				require.Equal(t, c.want, again.Withheld, "the same process, read again")
			}
		})
	}
	t.Run("a request that gives it", func(t *testing.T) {
		out := start(t, l.Chat("given"), procmgr.StartRequest{
			Command: "exit 3$MY_API_TOKEN$OTHER_API_TOKEN", Wait: long, Env: map[string]string{mine: ""},
		})
		require.Equal(t, []string{other}, out.Withheld)
	})
	t.Run("what it leaves behind", func(t *testing.T) {
		out := start(t, l.Chat("left"), procmgr.StartRequest{Command: "sleep 1000 & x=MY_API_; echo ${x}TOKEN; exit 3", Wait: long})
		require.Equal(t, procmgr.Detached, out.Process.State)
		require.Equal(t, []string{mine}, out.Withheld)
		require.NoError(t, l.Chat("left").Signal(t.Context(), out.Process.ID, procmgr.Kill))
	})
	t.Run("ended on request", func(t *testing.T) {
		m := l.Chat("ended")
		out := start(t, m, procmgr.StartRequest{Command: "x=MY_API_; echo ${x}TOKEN; echo up; exec sleep 1000"})
		output(t, m, out.Process.ID, procmgr.OutputRequest{Until: "^up", Wait: long})
		require.NoError(t, m.Signal(t.Context(), out.Process.ID, procmgr.Kill))
		out = output(t, m, out.Process.ID, procmgr.OutputRequest{Wait: long})
		require.Equal(t, procmgr.Exited, out.Process.State)
		require.Empty(t, out.Withheld)
	})
}
