// Package proctest says what a [procmgr.Host] is, as a suite of tests that any
// implementation can run. Each case holds one promise of that interface and
// looks at it from outside alone: what a host does and where, whether in this
// program, behind a network or in containers, is its own affair.
//
//	func TestHost(t *testing.T) {
//		proctest.TestHost(t, func(t *testing.T) procmgr.Host {
//			h := myhost.New()
//			t.Cleanup(func() { h.Close() })
//			return h
//		})
//	}
//
// The function is called once for each case, for several at a time, so that it
// may not use T.Setenv or T.Chdir. It may return the same host every time, and
// that may have other users: a case takes IDs that nobody has and chats of its
// own, and looks at nothing else.
//
// # When a case fails
//
// The message says what the host did and what it had promised:
//
//	a second Start with the same ID and command returned a process that is not Attached
//	promised: an ID runs once: Start with an ID that the chat has used and the same command starts nothing and returns that process, Attached
//
// The doc of [procmgr.Manager], [procmgr.Host], [procmgr.StartRequest] and
// [procmgr.OutputRequest] has the promise in full. One case alone runs with
//
//	go test -run 'TestHost/once/attach_while_it_runs' -v
//
// and one that fails now and then is found with -count 100. Begin with the
// first group that fails, since the later ones build on it: start, command,
// directory, environment, once, output, limit, wait, until, signal, stop,
// detached, list, chat, isolation, concurrent. No case measures how fast a host
// is. A failure that speaks of 30 s is one of something that did not happen, or
// of a machine that had no time for it.
//
// # What is assumed of the host
//
//   - Its shell is a POSIX sh, and the commands are there that one expects
//     beside it: cat, head, kill, mkdir, mkfifo, mktemp, printf, pwd, rm, sleep,
//     test, tr. What a case does with setsid is left out where there is none.
//   - The commands of one host share a file system, on which /dev/null,
//     /dev/zero, /tmp and mktemp's directory are. They need not share it, nor
//     the numbers of their processes, with the program that runs the suite: what
//     a command has done is asked for by another command.
//   - Its default directory exists, and so do FIFOs, with both ends open in one
//     process.
//   - It keeps 16 KiB of the beginning and 16 KiB of the end of an output, or
//     more, and as they are, save for terminal sequences and carriage returns,
//     which no case prints.
//   - It lets 32 processes of a chat run at once, four times that in all, and
//     gives one host some 50 chats.
//   - It keeps what has exited for some minutes.
//
// A case ends what it has started and removes the files that it has made, also
// where it fails; what it starts ends within ten minutes where the host cannot
// end it. Four cases run at once, or fewer with -parallel. On [procmgr.Local]
// all of them take some two seconds.
//
// # What is not seen
//
//   - What a host is configured to: its limits and what comes after them
//     (ErrLimit, tombstones), which variables it lets through, its hooks, its
//     logs, its Close and ErrClosed.
//   - What differs by platform or needs a witness on the host: memory, threads,
//     the out-of-memory killer, the longest command, what leaves its session and
//     its output in one breath.
//   - Whether the host had a terminal that a command could have taken.
//   - What no one can cause on purpose: ErrUnknown, CauseLost, an answer that
//     was lost. Who serves a host over a network tests those.
//   - Who may be which chat. The suite is allowed to be all of them, and the
//     host itself.
package proctest
