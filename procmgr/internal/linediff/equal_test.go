package linediff_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/linediff"
)

// Each form that is taken as equal stands beside what is near it and is not.
func TestTakenAsEqual(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, a, b string
		same       bool
	}{
		{"the same bytes", "a", "a", true},
		{"another letter", "a", "b", false},
		{"a blank at the end", "a", "a ", false},
		{"a carriage return", "a", "a\r", false},
		{"an empty line", "", " ", false},

		{"a date alone", "2026-01-02 started", "2026-03-14 started", false},
		{"a date and a time of day", "2026/01/02 03:04:05 started", "2026/03/14 13:14:15 started", true},
		{"RFC 3339", "2026-01-02T03:04:05Z started", "2026-03-14T13:14:15Z started", true},
		{"a fraction of another length", "2026-01-02T03:04:05.1Z started", "2026-03-14T13:14:15.123456Z started", true},
		{"an offset", "2026-01-02T03:04:05+02:00 started", "2026-03-14T13:14:15+02:00 started", true},
		{"a time of day", "03:04:05 started", "13:14:15 started", true},
		{"a time of day with a comma", "03:04:05,001 started", "13:14:15,999 started", true},
		{"in brackets", "[03:04:05] started", "[13:14:15] started", true},
		{"in brackets with a level", "[03:04:05 INFO] started", "[13:14:15 INFO] started", true},
		{"before a colon", "03:04:05: started", "13:14:15: started", true},
		{"of a syslog", "Jan  2 03:04:05 host app: started", "Mar 14 13:14:15 host app: started", true},
		{"a carriage return behind it", "03:04:05 started\r", "13:14:15 started\r", true},
		{"another form of date", "2026-01-02 started", "2026/01/02 started", false},
		{"a date and none", "2026-01-02 started", "started", false},
		{"a time of day without its date", "2026-01-02 03:04:05 started", "2026-01-02 started", false},
		{"within the 10 s", "2026-01-02 03:04:05 started", "2026-03-14 13:14:24 started", true},
		{"later", "2026-01-02 03:04:05 started", "2026-03-14 13:14:26 started", false},
		{"earlier", "2026-01-02 03:04:05 started", "2026-03-14 13:14:04 started", false},
		{"another day", "2026-01-02 03:04:05 started", "2026-03-15 13:14:15 started", false},
		{"another year", "2026-01-02 03:04:05 started", "2025-03-14 13:14:15 started", false},
		{"a year that a duration does not reach", "1026-01-02 03:04:05 started", "1026-03-14 13:14:15 started", false},
		{"another hour", "03:04:05 started", "12:14:15 started", false},
		{"a time of day after midnight", "23:04:05 started", "09:14:15 started", true},
		{"a syslog of another day", "Jan  2 03:04:05 host app: started", "Mar 13 13:14:15 host app: started", false},
		{"another zone", "2026-01-02T03:04:05Z started", "2026-03-14T13:14:15+02:00 started", false},
		{"other text behind it", "03:04:05 started", "13:14:15 stopped", false},
		{"a time of day in the middle", "at 03:04:05 started", "at 13:14:15 started", false},
		{"a time of day at the end", "started 03:04:05", "started 13:14:15", false},
		{"behind a blank", " 03:04:05 started", " 13:14:15 started", false},
		{"nothing else, a time of day", "03:04:05", "13:14:15", false},
		{"nothing else, in brackets", "[03:04:05]", "[13:14:15]", false},
		{"nothing else but a zone", "2026-01-02T03:04:05Z", "2026-03-14T13:14:15Z", false},
		{"a line and a column", "12:30: unused variable", "12:31: unused variable", false},
		{"three numbers that are no time of day", "12:30:70 unused", "12:30:71 unused", false},
		{"four numbers", "12:30:40:50 unused", "12:30:41:50 unused", false},
		{"no month", "2026-13-02 started", "2026-14-02 started", false},
		{"no day", "2026-01-32 started", "2026-01-33 started", false},
		{"the name of a file", "2026-01-02.log is there", "2026-03-14.log is there", false},
		{"no syslog", "Jan 2 people came", "Mar 3 people came", false},
		{"seconds since the start", "[   12.345678] usb 1-1: new device", "[   13.345678] usb 1-1: new device", false},

		{"go test, a test", "--- PASS: TestA (0.12s)", "--- PASS: TestA (1.11s)", true},
		{"a second more", "--- PASS: TestA (0.12s)", "--- PASS: TestA (1.12s)", false},
		{"less than half more", "--- PASS: TestA (10.00s)", "--- PASS: TestA (14.99s)", true},
		{"half more", "--- PASS: TestA (10.00s)", "--- PASS: TestA (15.00s)", false},
		{"far less", "--- PASS: TestA (31.70s)", "--- PASS: TestA (0.02s)", false},
		{"go test, a subtest", "    --- FAIL: TestA/b (0.00s)", "    --- FAIL: TestA/b (0.01s)", true},
		{"go test, a package", "ok  \texample.com/a\t0.512s", "ok  \texample.com/a\t1.008s", true},
		{"go test, a package that fails", "FAIL\texample.com/a\t0.512s", "FAIL\texample.com/a\t0.514s", true},
		{"a package with blanks", "ok pkg 0.512s", "ok pkg 0.009s", true},
		{"mocha", "    ✓ adds (12ms)", "    ✓ adds (9ms)", true},
		{"jest", "  ✕ adds (12 ms)", "  ✕ adds (1002 ms)", true},
		{"jest, a file", "PASS src/add.test.js (5.124 s)", "PASS src/add.test.js (6.1 s)", true},
		{"square brackets", "✓ adds [12 ms]", "✓ adds [9 ms]", true},
		{"bun", "(pass) adds [0.12ms]", "(pass) adds [1.09ms]", true},
		{"node", "✔ adds (0.512334ms)", "✔ adds (11.3ms)", true},
		{"node, all", "ℹ duration_ms 65.228", "ℹ duration_ms 71", true},
		{"mocha, all", "  3 passing (12ms)", "  3 passing (1ms)", true},
		{"googletest", "[       OK ] A.B (12 ms)", "[       OK ] A.B (0 ms)", true},
		{"googletest, all", "[==========] 3 tests from 1 test suite ran. (12 ms total)", "[==========] 3 tests from 1 test suite ran. (9 ms total)", true},
		{"pytest", "========= 1 failed, 2 passed in 0.12s =========", "========= 1 failed, 2 passed in 1.01s =========", true},
		{"unittest", "Ran 3 tests in 0.001s", "Ran 3 tests in 0.012s", true},
		{"rust", "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.12s", "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.40s", true},
		{"another verdict", "--- PASS: TestA (0.12s)", "--- FAIL: TestA (0.12s)", false},
		{"another test", "--- PASS: TestA (0.12s)", "--- PASS: TestB (0.12s)", false},
		{"another unit", "✓ adds (0.12s)", "✓ adds (12ms)", false},
		{"a duration and none", "✓ adds (12ms)", "✓ adds", false},
		{"a cached package", "ok  \texample.com/a\t0.512s", "ok  \texample.com/a\t(cached)", false},
		{"no test runner", "connected (0.12s)", "connected (0.13s)", false},
		{"no test runner, a failure", "connection failed (0.12s)", "connection failed (0.13s)", false},
		{"a timeout of whole seconds in a name", "✓ waits (30s)", "✓ waits (40s)", false},
		{"a duration in a name", "ok 1 - waits 0.5s", "ok 1 - waits 0.7s", false},
		{"a duration without brackets", "✓ adds 12ms", "✓ adds 13ms", false},
		{"coverage behind it", "ok  \ta\t0.512s\tcoverage: 50.0% of statements", "ok  \ta\t0.512s\tcoverage: 51.0% of statements", false},
		{"time", "real\t0m5.1s", "real\t0m5.2s", false},
		{"slow", "took 0.12s", "took 0.13s", false},
		{"duration_ms in the middle", "the duration_ms 12 of it", "the duration_ms 13 of it", false},
		{"in", "finished in 0.12s", "finished in 0.13s", false},

		{"a port", "listening on 127.0.0.1:41234", "listening on 127.0.0.1:41235", false},
		{"a pid", "started as 1234", "started as 1235", false},
		{"a NUL that looks like a mask", "03:04:05 \x00D", "\x00D \x00D", false},
		{"two NULs", "\x00\x00", "\x00", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, end := range []string{"\n", ""} {
				c := find(t, tt.a+end, tt.b+end)
				require.Equal(t, tt.same, c.Same, c.Text)
				require.Equal(t, tt.same && tt.a != tt.b, c.Times == 1)
				require.Equal(t, tt.same, findAt(t, linediff.Output{Text: tt.b + end, Start: second}, linediff.Output{Text: tt.a + end, Start: first}).Same)
				// In another place, a line is found by its form.
				around := strings.Repeat("x\n", 5)
				moved := "first\n" + around + tt.a + "\n" + around
				c = find(t, moved, around+tt.b+"\n"+around+"last\n")
				require.Equal(t, tt.same, c.Added == 1 && c.Removed == 1, c.Text)
				require.Equal(t, tt.same, oracle(tt.a+end, tt.b+end), "the oracle of the fuzz test")
			}
		})
	}
}

// A process that ran for long prints times far from its start.
func TestSlack(t *testing.T) {
	t.Parallel()
	before := linediff.Output{Text: "2026-01-02 03:04:05 done\n", Start: first, Took: time.Minute}
	after := linediff.Output{Text: "2026-03-14 13:15:05 done\n", Start: second}
	require.True(t, findAt(t, before, after).Same)
	before.Took = 49 * time.Second
	require.False(t, findAt(t, before, after).Same)
	after.Took = time.Minute
	require.True(t, findAt(t, before, after).Same)
	after.Start = time.Time{}
	require.False(t, findAt(t, before, after).Same, "it is not known when it started")
}

// Times that stay belong to themselves, also if lines move.
func TestTimesThatStay(t *testing.T) {
	t.Parallel()
	var lines string
	for day := 1; day <= 28; day++ {
		lines += fmt.Sprintf("2025-02-%02d 03:04:05 ok\n", day)
	}
	c := find(t, lines, "2025-01-31 03:04:05 ok\n"+lines)
	require.Equal(t, []int{1, 0, 0}, []int{c.Added, c.Removed, c.Times}, c.Text)
}

// If the order differs, times are compared too.
func TestTimesInAnotherOrder(t *testing.T) {
	t.Parallel()
	var before, after string
	for i := range 10 {
		before += fmt.Sprintf("03:04:%02d worker %d\n", i, i)
		after = fmt.Sprintf("13:14:%02d worker %d\n", 10+i, i) + after
	}
	c := find(t, before, after)
	require.Equal(t, linediff.Changes{Times: 10, Lines: 10, Text: set}, c)
	c = find(t, before, strings.Replace(after, "13:14:13 worker 3", "23:14:13 worker 3", 1))
	require.Equal(t, set+"-03:04:03 worker 3\n+23:14:13 worker 3\n", c.Text)
	require.Equal(t, []int{1, 1, 9}, []int{c.Added, c.Removed, c.Times})
}
