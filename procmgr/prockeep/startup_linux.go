package prockeep

import (
	"bytes"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// forgetStartup takes the pages of the program out of this process that only its
// start has needed, some 0.7 MB. The kernel maps 16 of them at a touch, so a start
// has nearly the whole file. What is needed again comes from the page cache at the
// next touch.
//
// It leaves alone what the process may have written to, and all other files: a
// library can be unloaded, and something else be in its place.
func forgetStartup() {
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return
	}
	text, err := os.ReadFile("/proc/self/smaps") // a kernel may have none
	if err != nil {
		return
	}
	for _, m := range unwritten(text, own) {
		// An error means that the pages stay.
		_, _, _ = unix.Syscall(unix.SYS_MADVISE, m.from, m.size, unix.MADV_DONTNEED)
	}
}

// A mapping is a part of the memory of a process.
type mapping struct{ from, size uintptr }

// unwritten returns the mappings of a file that cannot be written to and of which
// no page was written to. text is that of smaps, see proc(5).
func unwritten(text []byte, path string) (all []mapping) {
	var now mapping
	clean := false
	for line := range bytes.Lines(text) {
		fields := bytes.Fields(line)
		if len(fields) < 2 {
			continue
		}
		switch name := string(fields[0]); name {
		case "Anonymous:", "Swap:": // such as a relocated page
			clean = clean && string(fields[1]) == "0"
		case "VmFlags:": // the last line of a mapping
			if clean {
				all = append(all, now)
			}
			clean = false
		default:
			first, last, isRange := bytes.Cut(fields[0], []byte{'-'})
			if !isRange {
				continue
			}
			from, err := strconv.ParseUint(string(first), 16, strconv.IntSize)
			to, failed := strconv.ParseUint(string(last), 16, strconv.IntSize)
			mode := string(fields[1])
			clean = err == nil && failed == nil && to > from && (mode == "r-xp" || mode == "r--p") &&
				bytes.HasSuffix(bytes.TrimSuffix(line, []byte{'\n'}), []byte(" "+path))
			now = mapping{uintptr(from), uintptr(to - from)}
		}
	}
	return all
}
