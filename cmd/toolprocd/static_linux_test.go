package main_test

import (
	"debug/elf"
	"testing"

	"github.com/stretchr/testify/require"
)

// The program needs no library of the machine to which it is copied.
func TestStatic(t *testing.T) {
	file, err := elf.Open(program())
	require.NoError(t, err)
	defer func() { require.NoError(t, file.Close()) }()
	for _, p := range file.Progs {
		require.NotEqual(t, elf.PT_INTERP, p.Type)
	}
}
