//go:build amd64 || arm64

package sandbox

import (
	"bytes"
	"encoding/binary"
	"os"
	"runtime"
	"slices"
	"unsafe"
)

// The starter is the first program in a box of Boundary. It closes the descriptors that
// the host has inherited, puts itself under rules of Landlock, under which bubblewrap could
// make no mount, and becomes the program that its arguments name. It is written in assembly language and wrapped as an ELF file here, so
// that a box needs no such program on the machine, and no call from the host's main.
//
// The file is one segment of code at starterBase, with the instructions at starterCode, a
// starterHead at starterData, and rules behind it: rights, the address of the next rule,
// and a path with a NUL. Rights of 0 end them.
const (
	starterBase = 0x400000
	starterCode = 0x100
	starterData = 0x400
)

// starterText returns where the instructions begin and end in this program.
func starterText() (begin, end unsafe.Pointer)

type starterHead struct {
	Handled uint64 // struct landlock_ruleset_attr
	Message [48]byte
}

// makeStarter writes the starter for some rules to a file.
func makeStarter(path string, rules []starterRule) error {
	begin, end := starterText()
	size := int(uintptr(end) - uintptr(begin))
	if size <= 0 || size > starterData-starterCode {
		return &lack{"Level Boundary", "the linker has torn the program apart that starts commands"}
	}
	file := make([]byte, starterData)
	copy(file, elfHeader())
	copy(file[starterCode:], unsafe.Slice((*byte)(begin), size)) //nolint:gosec // it is code, which does not move
	head := starterHead{Handled: dirRights}
	copy(head.Message[:], "toolproc: the rules of the box cannot be set   \n")
	var data bytes.Buffer
	_ = binary.Write(&data, binary.LittleEndian, head) // a buffer takes everything
	for _, r := range rules {
		entry := append([]byte(r.path), 0)
		entry = append(entry, make([]byte, -len(entry)&7)...)
		next := uint64(starterBase + starterData + data.Len() + 16 + len(entry))
		_ = binary.Write(&data, binary.LittleEndian, [2]uint64{r.rights, next})
		data.Write(entry)
	}
	data.Write(make([]byte, 8))
	file = slices.Concat(file, data.Bytes())
	binary.LittleEndian.PutUint64(file[64+32:], uint64(len(file))) // p_filesz
	binary.LittleEndian.PutUint64(file[64+40:], uint64(len(file))) // p_memsz
	return os.WriteFile(path, file, 0o755)                         //nolint:gosec // commands run it
}

// A starterRule lets commands write to a file, or below a directory.
type starterRule struct {
	path   string
	rights uint64
}

// elfHeader returns the header of an executable file for this machine, with its program
// headers: see elf(5).
func elfHeader() []byte {
	machine := map[string]uint16{"amd64": 62, "arm64": 183}[runtime.GOARCH]
	var b bytes.Buffer
	_ = binary.Write(&b, binary.LittleEndian, struct {
		Ident                                      [16]byte
		Type, Machine                              uint16
		Version                                    uint32
		Entry, Phoff, Shoff                        uint64
		Flags                                      uint32
		Ehsize, Phentsize, Phnum, Shentsize, Shnum uint16
		Shstrndx                                   uint16
	}{
		[16]byte{0x7f, 'E', 'L', 'F', 2, 1, 1}, 2, machine, 1, starterBase + starterCode, 64, 0, 0, 64, 56, 2, 64, 0, 0,
	})
	type segment struct {
		Type, Flags                                uint32
		Offset, Vaddr, Paddr, Filesz, Memsz, Align uint64
	}
	_ = binary.Write(&b, binary.LittleEndian, []segment{
		{1, 5, 0, starterBase, starterBase, 0, 0, 0x10000}, // PT_LOAD, to read and execute
		{0x6474e551, 6, 0, 0, 0, 0, 0, 16},                 // PT_GNU_STACK, not to execute
	})
	return b.Bytes()
}

// writeRules returns the rules of a box whose commands write below some directories.
func writeRules(dirs []string) (rules []starterRule) {
	for _, dir := range dirs {
		rules = append(rules, starterRule{dir, dirRights})
	}
	for device, rights := range devices {
		rules = append(rules, starterRule{device, rights})
	}
	// Scripts open their output again as /dev/stdout, and that may be a terminal of the host.
	for _, output := range []string{"/proc/self/fd/1", "/proc/self/fd/2"} {
		rules = append(rules, starterRule{output, fileRights})
	}
	return rules
}
