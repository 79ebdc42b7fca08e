// Package proclocal runs the processes of a [procmgr.Host] on this machine, in this
// program: [New] returns a [Local]. Start with it. If processes have to outlive the
// program, use prockeep; if they run on another machine, prochttp.
//
// [Local.Close] ends every process. Package procmgr describes the life of a process.
//
// The shell is bash if there is one, else sh. Options.Shell sets another one.
// [Local.Describe] returns the one in use.
//
// Every command runs in a session of its own (on Windows: with an invisible console of
// its own). It has no terminal, its stdin is empty, and its stdout and stderr share one
// pipe. It inherits no other descriptor of the host, except one that C code opens
// without close-on-exec, above 63 and above every descriptor that the host had when it
// called [New].
//
// # The end of the program
//
// Close ends every process. On Windows every process ends with the program, however the
// program ends. Elsewhere a program can die without Close: by a panic, os.Exit or
// SIGKILL, or by Ctrl-C if it does not handle that (see [Local.Close]). Then its
// processes keep running. They can still work, but a write to stdout or stderr fails,
// and SIGPIPE ends most of them. If your program must not leave any behind, use one of
// these:
//
//   - Options.Cgroup: the next New with the same directory ends everything that the
//     dead program left, before it starts anything.
//   - A supervisor that ends the whole service together with its main process. systemd
//     does this by default, and so does the end of a container's PID 1.
//   - Options.OnStart, to write down the pid and the ID of each process.
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
// On Windows a process costs a thread. It is a job object: no member can leave it, and
// all members end with this program, however the program dies. Windows has no signals
// for a job: Terminate and Interrupt end a process at once, like Kill, and show as exit
// codes 143 and 130. For a graceful shutdown, use the program's own way to end it. The
// shell is the bash of Git for Windows or of MSYS2, or their sh. If there is none,
// New says what to install.
//
// On other systems New returns an error, but they can use a Host on another machine.
package proclocal
