// Package proctest states the contract of a [procmgr.Host], as a suite of tests that
// any implementation can run. To test an agent, use [Script], a Host without processes.
//
// Each case of the suite tests one promise of the interface, from outside. How a host
// keeps a promise, and whether it runs commands in this program, behind a network or in
// containers, does not matter.
//
//	func TestHost(t *testing.T) {
//		proctest.TestHost(t, func(t *testing.T) procmgr.Host {
//			h := myhost.New()
//			t.Cleanup(func() { h.Close() })
//			return h
//		})
//	}
//
// The function newHost is called once for each case, concurrently for several cases, so
// it may not use T.Setenv or T.Chdir. It may return the same host every time, and that
// host may have other users: a case uses new IDs and chats of its own, and looks at
// nothing else.
//
// # When a case fails
//
// The message says what the host did and what it has to do:
//
//	a second Start with the same ID and command returned a process that is not Attached
//	promised: an ID runs once: a Start with an ID that the chat has used starts nothing; with the same command it returns that process, Attached, and with any difference it fails with ErrConflict
//
// The docs of [procmgr.Manager], [procmgr.Host], [procmgr.StartRequest] and
// [procmgr.OutputRequest] state the promises in full. To run one case alone:
//
//	go test -run 'TestHost/once/while_it_runs' -v
//
// Begin with the first group that fails, because later groups build on it. If the very
// first fails, no other group runs. Once failed cases have taken 15 s in all, the rest is
// skipped, so a broken host fails within 30 s. No case measures how fast a host is: if a
// message mentions 8 s or 15 s, something did not happen, or the machine was too slow.
//
// # What the suite assumes of the host
//
//   - The shell of the host is a POSIX sh, with the usual commands: cat, head,
//     kill, mkdir, mkfifo, mktemp, printf, pwd, rm, sleep, stty, test, tr. If there
//     is no setsid or uname, the suite leaves out the checks that need it. If there
//     is no perl, python3 or node, it leaves out the checks of listening ports.
//   - The commands of one host share a file system with /dev/null, /dev/zero,
//     /tmp and the directory of mktemp. They need not share it, or their
//     process IDs, with the program that runs the suite: to learn the effect of
//     a command, a case runs another command.
//   - The default directory of the host exists. FIFOs work, even if one process
//     holds both ends.
//   - The host keeps 16 KiB of the beginning and 16 KiB of the end of an
//     output, or more. It keeps them unchanged, except for terminal sequences
//     and carriage returns, which only the case output/a_line_redrawn prints.
//   - The host lets 16 processes of one chat run at once and 64 in all, and
//     allows some 50 chats.
//   - The host keeps exited processes for some minutes.
//   - The host itself starts processes, outside of every chat. If it refuses with
//     ErrInvalid, as one of many machines does, a chat of its own stands in.
//
// A case ends every process that it has started and removes every file that it has
// made, even if it fails. If the host cannot end a process, or if the test program is
// killed, the process ends by itself within some ten minutes. That takes a shell with
// read -t, so not dash. Four cases run at once, or fewer with -parallel. On a
// proclocal.Local the whole suite takes some two seconds.
//
// # What the suite does not test
//
//   - The configuration of a host: its limits and their effects (ErrLimit,
//     tombstones, the grace of a MaxLifetime), the variables that it lets
//     through, its hooks, its logs, its Close and ErrClosed.
//   - Effects that differ by platform or need a witness on the host: memory,
//     threads, the out-of-memory killer, the longest command, a child that
//     leaves its session and its output at the same moment.
//   - What a host may do beyond the contract: highlights, times that count as
//     equal in changes.
//   - Whether the host had a terminal that a command could have taken.
//   - Failures that no test can cause on purpose: CauseLost, a restart of the
//     host, an answer that was lost. If you serve a host over a network, test those
//     yourself.
//   - Access to chats. The suite may use every chat, and the host itself.
package proctest
