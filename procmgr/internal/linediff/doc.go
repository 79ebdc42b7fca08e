// Package linediff compares two outputs line by line, within a time and in
// memory that grows with what differs. It reads no file and knows no process.
//
// Two lines are the same if they have the same bytes, the line end included,
// but for three things, which are taken as equal if they have the same form in
// both. The list is closed: a number that may be the answer, such as a count, a
// size, a port, a pid or the time that a benchmark takes, always differs.
//
//  1. A date, a time of day, or both, with which a line begins, in brackets or
//     not, if more follows: 2006-01-02, 2006/01/02 15:04:05, 15:04:05.000,
//     2006-01-02T15:04:05Z, [15:04:05], Jan  2 15:04:05. A time of day has
//     seconds, since 12:30 may be a line and a column. A zone is compared.
//  2. The duration with which a line of a test runner ends. It is 0.12s, 0.12 s,
//     12ms or 12 ms, with a fraction for seconds, since a test may be named
//     after a timeout of 30s:
//     - in ( ) or [ ] behind --- PASS:, --- FAIL:, --- SKIP:, PASS, FAIL, ok,
//     not ok, a tick or a cross, (pass), (fail), (skip), test, or a status of
//     googletest such as [       OK ]; and behind a number and "passing",
//     "failing", "passed" or "failed"
//     - bare in a line of go test that has a package alone: ok  pkg  0.512s
//     - behind "in" and before the border of pytest's last line, === 3 passed in
//     0.12s ===, and behind "in" in unittest's Ran 3 tests in 0.001s and in
//     Rust's test result: … finished in 0.12s
//     - the number behind duration_ms in a line of node --test
//  3. A hex address of a stack trace: #1 0x4f2a in a frame of a debugger or a
//     sanitizer, "1: 0x55d0 - " in one of Rust, the +0x1d4 behind a line of Go's,
//     an argument of Go's frame that has 8 digits or more, the pc of Go's
//     [signal …], and Thread 0x7f01 of Python's faulthandler.
package linediff
