package osproc

import (
	"errors"
	"time"
	"unsafe"

	"golang.org/x/sys/windows"
)

// A job is a job object. It holds the processes of one tree, for good: it lets
// none of them break away.
type job windows.Handle

// newJob makes an empty job. When its last handle is closed, all its processes
// end: so a program that dies leaves nothing behind. A process that crashes in
// it ends too, and no dialog waits for a person.
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

// set sets one kind of information of the job. The memory to which info points
// does not move before set returns. A plain number would not see to that.
//
//go:uintptrescapes
func (j job) set(class uint32, info, size uintptr) error {
	_, err := windows.SetInformationJobObject(windows.Handle(j), class, info, uint32(size))
	return err
}

// query returns one kind of information about the job. info is as with set.
//
//go:uintptrescapes
func (j job) query(class int32, info, size uintptr) error {
	return windows.QueryInformationJobObject(windows.Handle(j), class, info, uint32(size), nil)
}

// accounting is JOBOBJECT_BASIC_ACCOUNTING_INFORMATION. Its times are in units
// of 100 ns, and count all processes that have ever been in the job.
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

// usage returns the resources that all processes of the job have used. It asks
// for the times of the leader as well: not every system adds them up.
func (j job) usage(shell windows.Handle) *Usage {
	var created, exited, kernel, user windows.Filetime
	if windows.GetProcessTimes(shell, &created, &exited, &kernel, &user) != nil {
		return nil
	}
	// In a Filetime, a span of time does not have the form of a point in time.
	units := func(t windows.Filetime) int64 { return int64(t.HighDateTime)<<32 | int64(t.LowDateTime) }
	var a accounting
	_ = j.query(windows.JobObjectBasicAccountingInformation, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a)) // on an error only the leader's times count
	var limits windows.JOBOBJECT_EXTENDED_LIMIT_INFORMATION
	_ = j.query(windows.JobObjectExtendedLimitInformation, uintptr(unsafe.Pointer(&limits)), unsafe.Sizeof(limits)) // on an error MaxRSS is 0
	return &Usage{
		User:   time.Duration(max(a.userTime, units(user))) * 100,
		System: time.Duration(max(a.kernelTime, units(kernel))) * 100,
		MaxRSS: int64(limits.PeakProcessMemoryUsed),
	}
}

// pids returns the processes of the job that live or are about to end.
func (j job) pids() []int {
	for room := 16; ; room *= 4 {
		// JOBOBJECT_BASIC_PROCESS_ID_LIST: two numbers of 32 bits, then the
		// list. The first number is how many processes there are, the second
		// how many are in the list.
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

// terminate ends all processes of the job at once, with an exit code.
func (j job) terminate(code int) error {
	return windows.TerminateJobObject(windows.Handle(j), uint32(code))
}

func (j job) close() { _ = windows.CloseHandle(windows.Handle(j)) }
