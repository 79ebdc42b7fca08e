// Package procmgr runs commands and keeps track of them. A [Manager] starts a
// command in a shell, collects its output in bounded memory, tells its state,
// and ends it together with everything that it started. [Local] does this on
// this machine. To run commands in another place, implement [Host].
//
// # The life of a process
//
// A process is everything that one command started. Its leader is the command's
// shell. The process is [Running] until its leader exits. The exit code is the
// leader's, taken at that moment. If the leader has left other processes behind,
// as in "server & sleep 1; curl …", the process is then [Detached]: the rest
// keeps running, its output is still collected, and Signal still reaches it.
// When nothing is left, the process is [Exited]. Its record and its output are
// kept for Options.Retain. After that, a small tombstone still answers with the
// state and the exit code.
//
// The shell is bash if there is one, else sh. Options.Shell sets another one. The
// function [Shell] tells which one it is.
//
// The function [Events] tells of starts and ends without asking for each process,
// and [Follow] yields what a process prints while it runs.
//
// Every command runs in a session of its own (on Windows: with a console of its
// own that nobody sees). It has no terminal, its stdin is empty, and its stdout
// and stderr share one pipe.
//
// # The end of the program
//
// Close ends every process. On Windows every process ends with the program,
// however the program ends. Elsewhere a program can die without Close: by a
// panic, os.Exit or SIGKILL, or by Ctrl-C if it does not handle that (see
// [Local.Close]). Then it leaves its processes running. They can still work, but
// a write to stdout or stderr fails, and most of them end at that by SIGPIPE. If
// your program must not leave any behind, you can use one of these:
//
//   - Options.Cgroup: the next NewLocal with the same directory ends all that
//     the dead program left, before it starts anything.
//   - A supervisor that ends all of a service together with its main process.
//     systemd does this by default, and so does the end of a container's PID 1.
//   - Options.OnStart, to write down the pid and the ID of each process.
//
// # Chats
//
// Host.Chat gives each chat a Manager that sees only the processes of that chat.
// This isolation is the interface's, not the system's: the commands of two chats
// run as one user, and can read each other's files and /proc.
//
// # Platforms
//
// On Linux a process costs no thread. Its members are found by their session,
// whatever process groups they make. A member that has left the session is found
// by a mark that all descendants inherit, even if it has wiped its environment or
// runs as another user. The mark is a limit that the kernel no longer enforces:
// RLIMIT_LOCKS. An environment variable is a second way to find a member, for a
// command that cannot be marked. A member that has set this limit itself, wiped its
// environment and left the session and the pipe is found only with Options.Cgroup.
// Signals go through pidfds, so that no signal hits a stranger whose number was reused.
//
// On macOS and the BSDs a process costs a thread, and its members are found by
// their process group alone.
//
// On Windows a process costs a thread. It is a job object: no member can leave
// it, and all members end with this program, however the program dies. Windows
// has no signals for a job: Terminate and Interrupt end a process at once, as
// Kill does, and show as exit codes 143 and 130. To let a program end by itself,
// ask it in its own way. The shell is the bash of Git for Windows or of MSYS2, or
// their sh. If there is none, Start says what to install.
//
// On other systems NewLocal returns an error. A Host on another machine can be
// used there.
package procmgr
