package interrupt_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/examples/internal/interrupt"
)

// While the commands of a step are being stopped, calls of the step that have
// not begun are stopped too, and a second Ctrl-C ends the agent.
func TestInterruptStep(t *testing.T) {
	ended := false
	i := &interrupt.Handler{End: func() { ended = true }}
	i.Step()
	first, done := i.Command(t.Context())
	i.Interrupt()
	require.Error(t, first.Err())
	done()
	second, done := i.Command(t.Context())
	require.Error(t, second.Err(), "it was to follow the first")
	require.False(t, ended)
	i.Interrupt()
	require.True(t, ended)
	done()

	i.Step()
	third, done := i.Command(t.Context())
	require.NoError(t, third.Err())
	done()
}
