package toolset_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// A list that can never be had is not asked for once more.
func TestListThatCannotWorkIsNotTriedAgain(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"invalid", xerrors.Errorf("procmgr: list: the chat ID is empty: %w", procmgr.ErrInvalid), "process_list: the chat ID is empty"},
		{"closed", procmgr.ErrClosed, "process_list: the process manager is closed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			m := &fake{list: func(context.Context) ([]procmgr.Process, error) { return nil, tt.err }}
			res, got := call(t, m, nil, "process_list", `{}`)
			require.True(t, res.IsError)
			require.Equal(t, tt.want, got["error"])
		})
	}
}
