package sandbox

// A Verdict says what becomes of an attempt on this machine.
type Verdict string

const (
	Stopped    Verdict = "stopped"
	NotStopped Verdict = "not stopped"
	Refused    Verdict = "refused" // New returns an error that says why
)

// A Finding is one attempt of a command, and what becomes of it in each Level.
type Finding struct {
	Attempt             string
	Accidents, Boundary Verdict
}

// Probe has commands in boxes try what rules forbid, and returns what has become of
// that on this machine, in a fixed order. At the end are the Unix sockets that commands
// with UnixSockets reach below the system's directories: see [Box.Sockets] for those that
// a policy adds. It takes some seconds, and leaves nothing behind but an empty
// directory for boxes. On a system without boxes, everything is Refused.
func Probe() []Finding {
	var findings []Finding
	for _, a := range attempts {
		findings = append(findings, Finding{a.what, verdictOf(Accidents, a), verdictOf(Boundary, a)})
	}
	for _, path := range systemSockets() {
		findings = append(findings, Finding{"the Unix socket " + path + ", with UnixSockets", NotStopped, NotStopped})
	}
	return findings
}

// An attempt has a script that a command runs in a box, or a policy whose rules New itself
// tries. FILE is a file outside, PIPE a named pipe that this
// program reads, and PID its number.
type attempt struct {
	what     string
	policy   func(dir string) Policy // dir has a directory, "dir"
	script   string                  // exits with 0 if it can be done
	boundary bool                    // Accidents have no rule against it
}

var attempts = []attempt{
	{what: "writing a file outside of Write", script: `: >>"$FILE"`},
	{what: "a new file outside of Write", script: `: >"$FILE.new"`},
	{what: "removing a file outside of Write", script: `rm -f "$FILE" && ! [ -e "$FILE" ]`},
	{what: "chmod outside of Write", script: `chmod 600 "$FILE"`},
	{what: "reading a file outside of Write", script: `: <"$FILE"`},
	{what: "writing below Protect", policy: func(dir string) Policy {
		return Policy{Write: []string{dir}, Protect: []string{dir + "/dir"}}
	}},
	{what: "reading below Hide", policy: func(dir string) Policy { return Policy{Hide: []string{dir + "/dir"}} }},
	{what: "writing to a named pipe outside of Write", script: `echo x >"$PIPE"`},
	{what: "a Unix socket, such as docker.sock, without UnixSockets", policy: func(string) Policy { return Policy{} }, boundary: true},
	{what: "a network, with NoNetwork", policy: func(string) Policy { return Policy{Network: NoNetwork} }, script: `exec 3<>/dev/udp/192.0.2.1/9`},
	{what: "a signal to the program that started the command", script: `kill -0 "$PID"`},
	{what: "the environment of that program", script: `read -r line <"/proc/$PID/environ" || [ -n "$line" ]`},
}
