package linediff_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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

		{"a date", "2026-01-02 started", "2026-03-14 started", true},
		{"a date with slashes", "2026/01/02 started", "2026/03/14 started", true},
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
		{"another zone", "2026-01-02T03:04:05Z started", "2026-03-14T13:14:15+02:00 started", false},
		{"other text behind it", "03:04:05 started", "13:14:15 stopped", false},
		{"a date in the middle", "started 2026-01-02 here", "started 2026-03-14 here", false},
		{"a time of day in the middle", "at 03:04:05 started", "at 13:14:15 started", false},
		{"a time of day at the end", "started 03:04:05", "started 13:14:15", false},
		{"behind a blank", " 03:04:05 started", " 13:14:15 started", false},
		{"nothing else", "2026-01-02", "2026-03-14", false},
		{"nothing else, a time of day", "03:04:05", "13:14:15", false},
		{"nothing else, in brackets", "[03:04:05]", "[13:14:15]", false},
		{"nothing else but a zone", "2026-01-02T03:04:05Z", "2026-03-14T13:14:15Z", false},
		{"a line and a column", "12:30: unused variable", "12:31: unused variable", false},
		{"three numbers that are no time of day", "12:30:70 unused", "12:30:71 unused", false},
		{"four numbers", "12:30:40:50 unused", "12:30:41:50 unused", false},
		{"no month", "2026-13-02 started", "2026-14-02 started", false},
		{"no day", "2026-01-32 started", "2026-01-33 started", false},
		{"the name of a file", "2026-01-02.log is there", "2026-03-14.log is there", false},
		{"a version", "2026-01-02-rc1 is there", "2026-03-14-rc1 is there", false},
		{"a number", "20260102 started", "20260314 started", false},
		{"no syslog", "Jan 2 people came", "Mar 3 people came", false},
		{"seconds since the start", "[   12.345678] usb 1-1: new device", "[   13.345678] usb 1-1: new device", false},

		{"go test, a test", "--- PASS: TestA (0.12s)", "--- PASS: TestA (10.07s)", true},
		{"go test, a subtest", "    --- FAIL: TestA/b (0.00s)", "    --- FAIL: TestA/b (0.01s)", true},
		{"go test, a package", "ok  \texample.com/a\t0.512s", "ok  \texample.com/a\t12.008s", true},
		{"go test, a package that fails", "FAIL\texample.com/a\t0.512s", "FAIL\texample.com/a\t0.514s", true},
		{"a package with blanks", "ok pkg 0.512s", "ok pkg 0.009s", true},
		{"mocha", "    ✓ adds (12ms)", "    ✓ adds (9ms)", true},
		{"jest", "  ✕ adds (12 ms)", "  ✕ adds (1012 ms)", true},
		{"jest, a file", "PASS src/add.test.js (5.124 s)", "PASS src/add.test.js (6.1 s)", true},
		{"square brackets", "✓ adds [12 ms]", "✓ adds [9 ms]", true},
		{"bun", "(pass) adds [0.12ms]", "(pass) adds [1.09ms]", true},
		{"node", "✔ adds (0.512334ms)", "✔ adds (11.3ms)", true},
		{"node, all", "ℹ duration_ms 65.228", "ℹ duration_ms 71", true},
		{"mocha, all", "  3 passing (12ms)", "  3 passing (1ms)", true},
		{"googletest", "[       OK ] A.B (12 ms)", "[       OK ] A.B (0 ms)", true},
		{"googletest, all", "[==========] 3 tests from 1 test suite ran. (12 ms total)", "[==========] 3 tests from 1 test suite ran. (9 ms total)", true},
		{"pytest", "========= 1 failed, 2 passed in 0.12s =========", "========= 1 failed, 2 passed in 3.45s =========", true},
		{"unittest", "Ran 3 tests in 0.001s", "Ran 3 tests in 0.012s", true},
		{"rust", "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.12s", "test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 3.40s", true},
		{"another verdict", "--- PASS: TestA (0.12s)", "--- FAIL: TestA (0.12s)", false},
		{"another test", "--- PASS: TestA (0.12s)", "--- PASS: TestB (0.12s)", false},
		{"another unit", "✓ adds (0.12s)", "✓ adds (12ms)", false},
		{"another number of tests", "Ran 3 tests in 0.001s", "Ran 4 tests in 0.001s", false},
		{"pytest, another count", "==== 3 passed in 0.12s ====", "==== 4 passed in 0.12s ====", false},
		{"a duration and none", "✓ adds (12ms)", "✓ adds", false},
		{"a cached package", "ok  \texample.com/a\t0.512s", "ok  \texample.com/a\t(cached)", false},
		{"mocha, another count", "  3 passing (12ms)", "  4 passing (12ms)", false},
		{"no test runner", "connected (0.12s)", "connected (0.13s)", false},
		{"no test runner, a failure", "connection failed (0.12s)", "connection failed (0.13s)", false},
		{"a timeout of whole seconds in a name", "✓ waits (30s)", "✓ waits (40s)", false},
		{"a duration in a name", "ok 1 - waits 0.5s", "ok 1 - waits 0.7s", false},
		{"a duration without brackets", "✓ adds 12ms", "✓ adds 13ms", false},
		{"coverage behind it", "ok  \ta\t0.512s\tcoverage: 50.0% of statements", "ok  \ta\t0.512s\tcoverage: 51.0% of statements", false},
		{"in the middle", "--- PASS: TestA (0.12s) again", "--- PASS: TestA (0.13s) again", false},
		{"time", "real\t0m5.1s", "real\t0m5.2s", false},
		{"a benchmark", "BenchmarkA-8   1000   812 ns/op", "BenchmarkA-8   1000   813 ns/op", false},
		{"a benchmark's seconds", "ok pkg 3", "ok pkg 4", false},
		{"slow", "took 0.12s", "took 0.13s", false},
		{"passed", "3 passed", "4 passed", false},
		{"duration_ms in the middle", "the duration_ms 12 of it", "the duration_ms 13 of it", false},
		{"in", "finished in 0.12s", "finished in 0.13s", false},

		{"gdb", "#1  0x00005555555551a9 in main () at a.c:5", "#1  0x0000aaaa555551a9 in main () at a.c:5", true},
		{"asan", "    #0 0x4f2a3b in main /tmp/a.c:5:3", "    #0 0x5f2a3c in main /tmp/a.c:5:3", true},
		{"rust's frame", "   3:     0x55d0c0f1a2b3 - core::panicking::panic", "   3:     0x5643c0f1a2b3 - core::panicking::panic", true},
		{"go, a line", "\t/src/main.go:12 +0x1d4", "\t/src/main.go:12 +0x24", true},
		{"go, arguments", "main.f(0xc000012345, {0xc000056789, 0x3})", "main.f(0xc0000abcde, {0xc0000f0f0f, 0x3})", true},
		{"go, the pc", "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x4a5b6c]", "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x4a5b80]", true},
		{"python", "Thread 0x00007f01a2b3c4d5 (most recent call first):", "Thread 0x00007f9fa2b3c4d5 (most recent call first):", true},
		{"another frame", "#1  0x00005555555551a9 in main () at a.c:5", "#2  0x00005555555551a9 in main () at a.c:5", false},
		{"another place", "#1  0x00005555555551a9 in main () at a.c:5", "#1  0x00005555555551a9 in main () at a.c:6", false},
		{"go, another line", "\t/src/main.go:12 +0x1d4", "\t/src/main.go:13 +0x1d4", false},
		{"go, a small argument", "main.f(0xc000012345, 0x3)", "main.f(0xc000012345, 0x4)", false},
		{"go, the address of a fault", "[signal SIGSEGV: segmentation violation code=0x1 addr=0x0 pc=0x4a5b6c]", "[signal SIGSEGV: segmentation violation code=0x1 addr=0x8 pc=0x4a5b6c]", false},
		{"a call that is no frame", "got f(0xc000012345) and more", "got f(0xc000012346) and more", false},
		{"a call of a program", "main.f(0xc000012345, x)", "main.f(0xc000012346, x)", false},
		{"an object", "<Foo object at 0x7f01a2b3c4d5>", "<Foo object at 0x7f01a2b3c4d6>", false},
		{"a register", "rax            0x4f2a3b", "rax            0x4f2a3c", false},
		{"a comment", "#1 of 0x4f2a3b in main", "#1 of 0x4f2a3c in main", false},
		{"an address alone", "0x4f2a3b", "0x4f2a3c", false},
		{"a hash", "commit 4f2a3b5", "commit 4f2a3b6", false},
		{"a map", "   3: 0x55d0c0f1 is there", "   3: 0x55d0c0f2 is there", false},
		{"an offset without a file", "\tsome text +0x1d4", "\tsome text +0x1d5", false},

		{"a port", "listening on 127.0.0.1:41234", "listening on 127.0.0.1:41235", false},
		{"a pid", "started as 1234", "started as 1235", false},
		{"a temporary name", "wrote /tmp/tmp.ab12cd", "wrote /tmp/tmp.ab12ce", false},
		{"a size", "12 KB", "13 KB", false},
		{"a NUL that looks like a mask", "03:04:05 \x00D", "\x00D \x00D", false},
		{"two NULs", "\x00\x00", "\x00", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			for _, end := range []string{"\n", ""} {
				c := find(t, tt.a+end, tt.b+end)
				require.Equal(t, tt.same, c.Same, c.Text)
				require.Equal(t, tt.same, find(t, tt.b+end, tt.a+end).Same)
				// Far from the ends a line is compared by its key.
				around := strings.Repeat("x\n", 5)
				moved := "first\n" + around + tt.a + "\n" + around
				c = find(t, moved, around+tt.b+"\n"+around+"last\n")
				require.Equal(t, tt.same, c.Added == 1 && c.Removed == 1, c.Text)
				require.Equal(t, tt.same, oracle(tt.a+end) == oracle(tt.b+end), "the oracle of the fuzz test")
			}
		})
	}
}
