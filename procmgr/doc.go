// Package procmgr runs commands and keeps track of them: a [Manager] starts a
// command in a shell, collects its output in bounded memory, tells how it
// stands, and ends it with everything that it started. [Local] does so on this
// machine. [Host] is the interface to implement for another place.
//
// # The life of a process
//
// A process is [Running] until its shell exits. The exit code is the shell's,
// taken at that moment. Where the shell left processes behind, as in
// "server & sleep 1; curl …", it is then [Detached]: they keep running, their
// output is still collected, and Signal still reaches them. Once none is left
// it is [Exited], and its record and output stay for Options.Retain. After
// that a small tombstone still answers with the state and the exit code.
//
// Every command runs in a session of its own (on Windows: with a console of its
// own that nobody sees), without a terminal, with stdin empty and with stdout
// and stderr in one pipe.
//
// # The end of the program
//
// Close ends every process. On Windows so does whatever ends the program.
// Elsewhere a program that dies without Close, by a panic, os.Exit, SIGKILL, or
// by Ctrl-C if it does not handle that (see [Local.Close]), leaves its processes
// running: they can still work, but a write to stdout or stderr fails, which ends
// most of them by SIGPIPE. Whoever must not leave any behind has a choice:
//
//   - Options.Cgroup: the next NewLocal with the same directory ends what the
//     dead program left, before it starts anything.
//   - A supervisor that ends all of a service with its main process: systemd
//     does by default, and so does the end of a container's PID 1.
//   - Options.OnStart, to write the pid and the ID of each process down.
//
// # Chats
//
// Host.Chat gives each chat a Manager that sees only what that chat started.
// That isolation is this interface's, not the system's: commands of two chats
// that run as one user can read each other's files and /proc.
//
// # Platforms
//
// On Linux a process costs no thread. What a command leaves behind is found by
// its session, whatever process groups it makes, and what has left that by an
// environment variable that all descendants inherit; what wipes its
// environment is found as long as it stays in a group with others of its
// session, and always with Options.Cgroup. Signals go through pidfds, so that none can
// hit a stranger who was given a number again.
// On macOS and the BSDs a process costs a thread, and what a command leaves
// behind is found by its process group alone.
//
// On Windows a process costs a thread, and is a job object: nothing that it
// starts leaves that, and all of it ends with this program, however that dies.
// There are no signals for it: Terminate and Interrupt end a process as Kill
// does, at once, and show as exit code 143 and 130. A program that is asked to
// end by itself has to be asked in its own way. The shell is sh, of Git for
// Windows or of MSYS2; where there is none, Start says what to install.
//
// Elsewhere NewLocal returns an error; a Host on another machine can be used
// there.
package procmgr
