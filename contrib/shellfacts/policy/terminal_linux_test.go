package policy_test

import (
	"bufio"
	"testing"

	"github.com/creack/pty"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/contrib/shellfacts/policy"
)

// What was typed at a terminal before a question does not answer it, neither as a line
// nor as the beginning of one.
func TestTypedBefore(t *testing.T) {
	t.Parallel()
	for _, early := range []string{"y\n", "y", "always\ny\ny", "\ny\n"} {
		person, tty, err := pty.Open()
		require.NoError(t, err)
		defer func() { _, _ = tty.Close(), person.Close() }()
		_, err = person.WriteString(early)
		require.NoError(t, err)
		type answered struct {
			policy.Answer
			error
		}
		answers := make(chan answered, 1)
		terminal := policy.NewTerminal(tty, tty)
		go func() {
			answer, err := terminal.Ask(t.Context(), "Remove all?", true)
			answers <- answered{answer, err}
		}()
		screen := bufio.NewReader(person)
		_, err = screen.ReadString('?') // of the question
		require.NoError(t, err)
		_, err = screen.ReadString('?') // of the choices
		require.NoError(t, err)
		_, err = person.WriteString("n\n")
		require.NoError(t, err)
		require.Equal(t, answered{policy.No, nil}, <-answers, "%q", early)
	}
}
