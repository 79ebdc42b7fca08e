//go:build !linux

package testenv

// CPUGroup does nothing here.
func CPUGroup() (leave func()) { return func() {} }
