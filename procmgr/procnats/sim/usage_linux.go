package main

import (
	"bytes"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// usageNow returns what this process has used so far.
func usageNow() usage {
	var u usage
	var r unix.Rusage
	if unix.Getrusage(unix.RUSAGE_SELF, &r) == nil {
		u.CPU = time.Duration(r.Utime.Nano() + r.Stime.Nano()).Seconds()
	}
	if status, err := os.ReadFile("/proc/self/statm"); err == nil {
		if fields := bytes.Fields(status); len(fields) > 1 {
			pages, _ := strconv.ParseInt(string(fields[1]), 10, 64)
			u.RSS = pages * int64(os.Getpagesize())
		}
	}
	return u
}

// busy returns how many processes of the machine want a CPU, the average of a
// minute.
func busy() float64 {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return 0
	}
	first, _, _ := bytes.Cut(text, []byte(" "))
	load, _ := strconv.ParseFloat(string(first), 64)
	return load
}
