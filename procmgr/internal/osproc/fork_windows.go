package osproc

import (
	"errors"
	"os"
	"slices"
	"strings"
	"unicode/utf16"
	"unsafe"

	"golang.org/x/sys/windows"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// fork starts a leader in a job of its own.
func fork(c *Command, file, _ string, null *os.File, _ int, _ *cgroups, _ *lacks) (*session, *pipe, *Input, error) {
	if err := checkStdin(c.Stdin); err != nil {
		return nil, nil, nil, err
	}
	line, err := windows.UTF16FromString(commandLine(file, c.Argv))
	if err != nil {
		return nil, nil, nil, forkError(err, file)
	}
	if len(line) > maxCommandLine {
		return nil, nil, nil, xerrors.Errorf("the command line has %d characters, this system takes at most %d; write the command to a script file and run that: %w",
			len(line)-1, maxCommandLine-1, sentinel.ErrInvalid)
	}
	read, write, err := newPipePair()
	if err != nil {
		return nil, nil, nil, forkError(err, file)
	}
	defer windows.CloseHandle(write) //nolint:errcheck // a copy of it is the child's
	reader, err := newReader()
	if err != nil {
		_ = windows.CloseHandle(read)
		return nil, nil, nil, forkError(err, file)
	}
	p := newPipe(uintptr(read), reader, c.Output)
	s, err := newSession()
	if err == nil {
		err = c.onThread(func() error { return startIn(s, file, line, c.Dir, c.Env, null, write) })
		if err != nil {
			s.release()
		}
	}
	if err != nil {
		p.close()
		p.reader.close()
		if kept := (*unstarted)(nil); errors.As(err, &kept) {
			return nil, nil, nil, kept.error
		}
		if gone := CheckDirectory(c.Dir); gone != nil {
			return nil, nil, nil, gone
		}
		return nil, nil, nil, forkError(err, file)
	}
	return s, p, nil, nil
}

// procThreadAttributeJobList is PROC_THREAD_ATTRIBUTE_JOB_LIST of winbase.h.
const procThreadAttributeJobList = 0x2000d

// startIn starts a program in the job of a session. No member is ever outside
// of the job, even if this program is killed meanwhile.
func startIn(s *session, file string, line []uint16, dir string, env []string, stdin *os.File, output windows.Handle) error {
	name, err := windows.UTF16PtrFromString(file)
	if err != nil {
		return err
	}
	dirName, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return err
	}
	self := windows.CurrentProcess()
	var null windows.Handle
	if err := windows.DuplicateHandle(self, windows.Handle(stdin.Fd()), self, &null, 0, true, windows.DUPLICATE_SAME_ACCESS); err != nil {
		return err
	}
	defer windows.CloseHandle(null) //nolint:errcheck // a copy of it is the child's

	handles := []windows.Handle{null, output} // only these are inherited, even if other handles are inheritable
	jobs := []job{s.job}
	attributes, err := windows.NewProcThreadAttributeList(2)
	if err != nil {
		return err
	}
	defer attributes.Delete() // keeps the memory to which the attributes point as well
	if err := attributes.Update(windows.PROC_THREAD_ATTRIBUTE_HANDLE_LIST,
		unsafe.Pointer(&handles[0]), uintptr(len(handles))*unsafe.Sizeof(handles[0])); err != nil {
		return err
	}
	if err := attributes.Update(procThreadAttributeJobList, unsafe.Pointer(&jobs[0]), unsafe.Sizeof(jobs[0])); err != nil {
		return err
	}
	startup := windows.StartupInfoEx{ProcThreadAttributeList: attributes.List()}
	startup.Cb = uint32(unsafe.Sizeof(startup))
	startup.Flags = windows.STARTF_USESTDHANDLES
	startup.StdInput, startup.StdOutput, startup.StdErr = null, output, output

	// A console of its own, which nobody sees. So the command cannot prompt on
	// the host's console, or change how that console works.
	const flags = windows.CREATE_NO_WINDOW | windows.CREATE_UNICODE_ENVIRONMENT | windows.EXTENDED_STARTUPINFO_PRESENT
	var info windows.ProcessInformation
	if err := windows.CreateProcess(name, &line[0], nil, nil, true, flags, &environment(env)[0], dirName, &startup.StartupInfo, &info); err != nil {
		return err
	}
	_ = windows.CloseHandle(info.Thread)
	s.pid, s.process = int(info.ProcessId), info.Process
	return nil
}

// environment returns the block that CreateProcess takes. Hardly any program
// starts without SystemRoot, so every child gets it, as with os/exec.
func environment(env []string) []uint16 {
	const root = "SYSTEMROOT"
	isRoot := func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return strings.EqualFold(name, root)
	}
	if value, ok := os.LookupEnv(root); ok && !slices.ContainsFunc(env, isRoot) {
		env = append(slices.Clip(env), root+"="+value)
	}
	return utf16.Encode([]rune(strings.Join(env, "\x00") + "\x00\x00"))
}

// forkError explains the error of a failed start. After it nothing runs.
func forkError(err error, shell string) error {
	switch {
	case errors.Is(err, windows.ERROR_TOO_MANY_OPEN_FILES), errors.Is(err, windows.ERROR_NO_SYSTEM_RESOURCES),
		errors.Is(err, windows.ERROR_NOT_ENOUGH_QUOTA), errors.Is(err, windows.ERROR_MAX_THRDS_REACHED):
		return xerrors.Errorf("the system has no resources left for another process (%v); end some of them: %w", err, sentinel.ErrLimit)
	case errors.Is(err, windows.ERROR_NOT_ENOUGH_MEMORY), errors.Is(err, windows.ERROR_OUTOFMEMORY),
		errors.Is(err, windows.ERROR_COMMITMENT_LIMIT):
		return xerrors.Errorf("no memory is left for another process (%v): %w", err, sentinel.ErrLimit)
	}
	return xerrors.Errorf("%s: %v; set Options.Shell: %w", shell, err, errShell)
}
