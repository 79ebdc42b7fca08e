package lineage_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/lineage"
)

func TestAfter(t *testing.T) {
	second := lineage.After("ABC")
	third := lineage.After(second)
	require.Equal(t, "ABC~1", second)
	require.Equal(t, "ABC~2", third)
	require.True(t, lineage.Continued("ABC", third))
	require.True(t, lineage.Continued(second, third))
	require.False(t, lineage.Continued("ABD", third))
	require.False(t, lineage.Continued(third, third))
}

func TestWith(t *testing.T) {
	require.Nil(t, lineage.From(context.Background()))
	l := &lineage.Line{Instance: "x"}
	require.Same(t, l, lineage.From(lineage.With(context.Background(), l)))
}

func TestAlone(t *testing.T) {
	require.False(t, lineage.IsAlone(context.Background()))
	require.True(t, lineage.IsAlone(lineage.Alone(context.Background())))
}
