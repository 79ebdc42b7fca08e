package lineage_test

import (
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
