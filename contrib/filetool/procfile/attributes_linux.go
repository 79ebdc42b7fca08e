package procfile

import (
	"os"
	"strconv"
	"strings"
	"syscall"
)

// attributes returns the names of the extended attributes of a file, but for the labels
// that the system gives each file by itself.
func attributes(f *os.File) (names []string) {
	buf := make([]byte, 64<<10) // the kernel has no longer list
	n, err := syscall.Listxattr("/proc/self/fd/"+strconv.FormatUint(uint64(f.Fd()), 10), buf)
	if err != nil {
		return nil
	}
	for name := range strings.SplitSeq(string(buf[:n]), "\x00") {
		switch name {
		case "", "security.selinux", "security.evm", "security.ima", "system.nfs4_acl":
		default:
			names = append(names, name)
		}
	}
	return names
}
