package osproc

import (
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A job is a job object: one process and all that it starts, for good. It does
// not let anything break away.
type job windows.Handle

// newJob makes an empty one. Its last handle closing ends what is in it, so that
// a program that dies leaves nothing behind; and what crashes in it ends,
// where a dialog would wait for a person.
func newJob() (job, error) {
	handle, err := windows.CreateJobObject(nil, nil)
	if err != nil {
		return 0, err
	}
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	limits.BasicLimitInformation.LimitFlags = windows.JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE | windows.JOB_OBJECT_LIMIT_DIE_ON_UNHANDLED_EXCEPTION
	j := job(handle)
	if err := j.set(windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits)); err != nil {
		j.close()
		return 0, err
	}
	return j, nil
}

// set gives the job one kind of information. What is pointed to stays where it
// is until it returns, which a number alone would not see to.
//
//go:uintptrescapes
func (j job) set(class uint32, info, size uintptr) error {
	_, err := windows.SetInformationJobObject(windows.Handle(j), class, info, uint32(size))
	return err
}

// query asks for one kind of information, like set.
//
//go:uintptrescapes
func (j job) query(class int32, info, size uintptr) error {
	return windows.QueryInformationJobObject(windows.Handle(j), class, info, uint32(size), nil)
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION. Times are in units of
// 100 ns, and those of all processes that ever were in the job.
type accounting struct {
	userTime, kernelTime             int64
	periodUserTime, periodKernelTime int64
	pageFaults                       uint32
	processes, active, terminated    uint32
}

// populated reports whether any process in the job lives.
func (j job) populated() bool {
	var a accounting
	return j.query(windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a)) == nil && a.active > 0
}

// usage is what all processes of the job have used. The shell's own is asked as
// well: not every system adds it up.
func (j job) usage(shell windows.Handle) *Usage {
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(shell, &created, &exited, &kernel, &user) != nil {
		return nil
	}
	// A span of time is in a Filetime what a point in time is not.
	units := func(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	var a accounting
	_ = j.query(windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a)) // none: the shell's alone
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	_ = j.query(windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits)) // 0: not told
	return &Usage{
		User:   time.Duration(max(a.userTime, units(user))) * 100,
		System: time.Duration(max(a.kernelTime, units(kernel))) * 100,
		MaxRSS: int64(limits.PeakProcessMemoryUsed),
	}
}

// pids are those of the job that live, or are on their way out.
func (j job) pids() []int {
	for room := 16; ; room *= 4 {
		// JOBOBJECT_BASIC_PROCESS_ID_LIST: two numbers of 32 bits, how many
		// there are and how many follow, then the list.
		const header = 8
		const size = unsafe.Sizeof(uintptr(0))
		list := make([]uintptr, header/size+uintptr(room))
		err := j.query(windows.JobObjectBasicProcessIdList, uintptr(unsafe.Pointer(&list[0])), uintptr(len(list))*size)
		if errors.Is(err, windows.ERROR_MORE_DATA) {
			continue
		}
		if err != nil {
			return nil
		}
		count := *(*uint32)(unsafe.Add(unsafe.Pointer(&list[0]), 4))
		pids := make([]int, 0, count)
		for _, pid := range list[header/size:][:count] {
			pids = append(pids, int(pid))
		}
		return pids
	}
}

// terminate ends all that is in the job at once, with an exit code.
func (j job) terminate(code int) error {
	return windows.TerminateJobObject(windows.Handle(j), uint32(code))
}

func (j job) close() { _ = windows.CloseHandle(windows.Handle(j)) }
