//go:build linux

package sandbox

import (
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// The filter is run as the kernel runs it, also for calls that this machine does not
// have. TestAttacks makes the others.
func TestFilter(t *testing.T) {
	const thread = 4711
	own := func(number uint32, args ...uint64) call {
		c := call{arch: auditArch, number: number}
		copy(c.args[:], args)
		return c
	}
	tests := map[string]struct {
		call    call
		network Network
		want    uint32
	}{
		"read":                      {own(unix.SYS_READ), NoNetwork, allowed},
		"read of 32 bits":           {call{arch: unix.AUDIT_ARCH_I386, number: 3}, AllNetwork, refused},
		"socket of 32 bits":         {call{arch: unix.AUDIT_ARCH_I386, number: 359}, NoNetwork, refused},
		"arm, 32 bits":              {call{arch: unix.AUDIT_ARCH_ARM, number: 281}, AllNetwork, refused},
		"TCP, allowed":              {own(unix.SYS_SOCKET, unix.AF_INET), AllNetwork, allowed},
		"TCP, as an int of 64 bits": {own(unix.SYS_SOCKET, 1<<32|unix.AF_INET), NoNetwork, refused},
		"a pair of another family":  {own(unix.SYS_SOCKETPAIR, unix.AF_TIPC), NoNetwork, refused},
		"io_uring_enter":            {own(unix.SYS_IO_URING_ENTER), NoNetwork, refused},
		"io_uring, allowed":         {own(unix.SYS_IO_URING_SETUP), AllNetwork, allowed},
		"ptrace of another":         {own(unix.SYS_PTRACE, unix.PTRACE_ATTACH, thread+1), AllNetwork, allowed},
	}
	if runtime.GOARCH == "amd64" {
		tests["read of x32"] = tests["read"]
		x := tests["read of x32"]
		x.call.number, x.want = x32|unix.SYS_READ, refused
		tests["read of x32"] = x
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			require.Equal(t, test.want, test.call.run(t, filter(test.network, thread)))
		})
	}
}

// By a map of BPF that is pinned somewhere, a command with the map's user changes what
// the map's programs do outside of the box.
func TestBoundaryFilter(t *testing.T) {
	pinned := call{arch: auditArch, number: unix.SYS_BPF, args: [6]uint64{unix.BPF_OBJ_GET}}
	require.Equal(t, missing, pinned.run(t, boundaryFilter(4711, &Policy{UnixSockets: true})))
}

type call struct {
	arch, number uint32
	args         [6]uint64
}

// run returns what a filter answers to a call.
func (c *call) run(t *testing.T, filter []bpf.Instruction) uint32 {
	t.Helper()
	vm, err := bpf.NewVM(filter)
	require.NoError(t, err)
	// Package bpf reads in the order of the network, and the kernel in its own.
	data := binary.BigEndian.AppendUint32(nil, c.number)
	data = binary.BigEndian.AppendUint32(data, c.arch)
	data = append(data, make([]byte, 8)...)
	for _, arg := range c.args {
		data = binary.BigEndian.AppendUint32(data, uint32(arg))
		data = binary.BigEndian.AppendUint32(data, uint32(arg>>32))
	}
	got, err := vm.Run(data)
	require.NoError(t, err)
	return uint32(got)
}
