package procstat

import (
	"bytes"
	"os"
	"strconv"
	"sync"
	"syscall"
)

// forkNoExec is PF_FORKNOEXEC of the kernel. A fork sets it, and an exec clears it
// before the first instruction of the new program.
const forkNoExec = 0x40

// exiting is PF_EXITING of the kernel.
const exiting = 0x4

// trusted reports whether the flags mean what they mean on Linux: this program has
// reached its exec.
var trusted = sync.OnceValue(func() bool {
	_, flags, ok := read(os.Getpid())
	return ok && flags != 0 && flags&forkNoExec == 0
})

// Look returns what the system says of a process. It reports false if there is
// none, or if the system does not tell.
func Look(pid int) (p Process, ok bool) {
	p, flags, ok := read(pid)
	p.Unborn = ok && flags&forkNoExec != 0 && trusted()
	p.Exiting = ok && flags&exiting != 0
	return p, ok
}

// These are fields of /proc/PID/stat, counted from the third on.
const (
	fieldState   = 0
	fieldSession = 3
	fieldFlags   = 6
	fieldStart   = 19
)

func read(pid int) (p Process, flags uint64, ok bool) {
	var buf [1024]byte
	fd, err := syscall.Open("/proc/"+strconv.Itoa(pid)+"/stat", syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return p, 0, false
	}
	n, err := syscall.Read(fd, buf[:])
	_ = syscall.Close(fd)
	if err != nil || n <= 0 {
		return p, 0, false
	}
	rest := buf[:n]
	rest = bytes.TrimLeft(rest[bytes.LastIndexByte(rest, ')')+1:], " ") // the name may contain anything
	for field := 0; field <= fieldStart; field++ {
		var text []byte
		text, rest, _ = bytes.Cut(rest, []byte{' '})
		switch field {
		case fieldState:
			if len(text) != 1 {
				return p, 0, false
			}
			p.State = text[0]
		case fieldSession:
			p.Session, err = strconv.Atoi(string(text))
		case fieldFlags:
			flags, err = strconv.ParseUint(string(text), 10, 64)
		case fieldStart:
			p.Start, err = strconv.ParseUint(string(text), 10, 64)
		}
		if err != nil {
			return p, 0, false
		}
	}
	return p, flags, p.Start > 0
}
