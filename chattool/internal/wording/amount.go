package wording

import (
	"strconv"
	"strings"
	"time"
)

// Duration writes a duration as a person would: "4h", not "4h0m0s".
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Brief writes a duration as people do: 350ms, 12.3s, 2m5s, 3h20m, 4d2h.
func Brief(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return Duration(d.Round(time.Second))
	case d < 2*day:
		return Duration(d.Round(time.Minute))
	}
	d = d.Round(time.Hour)
	text := strconv.Itoa(int(d/day)) + "d"
	if rest := d % day; rest > 0 {
		text += strconv.Itoa(int(rest/time.Hour)) + "h"
	}
	return text
}

// Counted writes a number with its noun.
func Counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}

// Grouped writes a number with a comma before each three digits.
func Grouped(n int64) string {
	digits := strconv.FormatInt(n, 10)
	for i := len(digits) - 3; i > 0 && digits[i-1] != '-'; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Killed reports whether SIGKILL ended a process, by its signal and its exit code.
func Killed(signal string, exitCode *int) bool {
	return signal == "SIGKILL" || exitCode != nil && *exitCode == 128+9
}
