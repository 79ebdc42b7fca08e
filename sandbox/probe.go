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
// that on this machine, in a fixed order. It takes up to a second, and leaves nothing
// behind. On a system without boxes, everything is Refused.
func Probe() []Finding {
	findings := make([]Finding, len(attempts))
	for i, a := range attempts {
		findings[i] = Finding{a.what, verdictOf(Accidents, a), verdictOf(Boundary, a)}
	}
	return findings
}

// An attempt has a script that a command runs in a box with no other rule, or a policy
// whose rules New itself tries. FILE is a file outside, and PID the number of this
// program.
type attempt struct {
	what   string
	policy func(dir string) Policy // dir has a file, "file"
	script string                  // exits with 0 if it can be done
}

var attempts = []attempt{
	{what: "writing a file outside of Write", script: `: >>"$FILE"`},
	{what: "a new file outside of Write", script: `: >"$FILE.new"`},
	{what: "removing a file outside of Write", script: `rm -f "$FILE" && ! [ -e "$FILE" ]`},
	{what: "chmod outside of Write", script: `chmod 600 "$FILE"`},
	{what: "reading a file outside of Write", script: `: <"$FILE"`},
	{what: "writing to a file of Protect", policy: func(dir string) Policy {
		return Policy{Write: []string{dir}, Protect: []string{dir + "/file"}}
	}},
	{what: "reading a file of Hide", policy: func(dir string) Policy { return Policy{Hide: []string{dir + "/file"}} }},
	{what: "TCP, UDP and MPTCP, with NoNetwork", policy: func(string) Policy { return Policy{Network: NoNetwork} }},
	{what: "a signal to the program that started the command", script: `kill -0 "$PID"`},
	{what: "the environment of that program", script: `read -r line <"/proc/$PID/environ" || [ -n "$line" ]`},
}
