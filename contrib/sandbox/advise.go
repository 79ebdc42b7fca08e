package sandbox

import (
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/procmgr"
)

// Advise returns a function for [toolset.Options.Advise]. If a command has failed and a
// rule may be why, its note says which rule, so that the model looks for no way around
// it. The rules come from [Box.Rules], or from the Description of a manager on another
// machine. The note is concluded from what the command printed, so it proves nothing.
func Advise(rules procmgr.SandboxRules) func(toolset.Report) []string {
	return func(r toolset.Report) []string {
		if r.Process == nil || r.Output == nil || r.Process.ExitCode == nil || *r.Process.ExitCode == 0 {
			return nil
		}
		rule := ""
		if rules.NoLoopback && serverless.MatchString(*r.Output) {
			rule = noLoopback
		}
		for line := range strings.Lines(*r.Output) {
			if rule == "" {
				rule = broken(rules, line, r.Process.WorkDir)
			}
			if rule != "" {
				return []string{"A rule of the sandbox may be the reason: commands " + rule + ". If it is, another way round will not help: tell the user."}
			}
		}
		return nil
	}
}

var (
	// denials are what a system and the usual languages say of a write that a rule
	// forbids.
	denials = regexp.MustCompile(`(?i)permission denied|operation not permitted|read-only file ?system|cross-device link|\b(EACCES|EPERM|EROFS|EXDEV)\b|PermissionError`)
	// absences are what a program says of a file that is hidden.
	absences = regexp.MustCompile(`(?i)no such file|not found|cannot open|\bENOENT\b`)
	// offline are what programs say that reach no network.
	offline = regexp.MustCompile(`(?i)network is unreachable|network unreachable|could ?n[o']t resolve|failure in name resolution|name or service not known|no such host|` +
		`nodename nor servname|no address associated|(failed to|could ?n[o']t) connect to|\b(EAI_AGAIN|ENETUNREACH|ENOTFOUND)\b|getaddrinfo|gaierror|(socket|dial (tcp|udp)).*operation not permitted|can't create socket`)
	// serverless are what the usual languages say if they can make no socket for a server.
	// Python names none in its last line, which alone may be of anything.
	serverless = regexp.MustCompile(`(?i)\b(listen|bind|connect)( EPERM\b|: operation not permitted)|could not bind on any address|<urlopen error \[Errno 1\]|` +
		`\bsocket\.__init__\(.*\n([ ~^]+\n)?PermissionError: \[Errno 1\]`)
	// socketless are what programs say that can make no Unix socket. docker and gpg do not
	// say why.
	socketless = regexp.MustCompile(`(?i)address family not supported|\bEAFNOSUPPORT\b|cannot connect to the docker daemon at unix:|` +
		`gpg: (can't connect to the agent|failed to start agent)|gpg failed to sign|connecting to agent|/\.s\.PGSQL\.\d+\.lock`)
	// own are the machine's own addresses, at which a server may just not be there.
	own = regexp.MustCompile(`(?i)\blocalhost\b|\b127\.\d+\.\d+\.\d+\b|::1\b`)
	// keys are denials of another machine.
	keys = regexp.MustCompile(`(?i)permission denied,? (\(|please try again)`)
	// relative is the denial of a file that is named from the current directory.
	relative = regexp.MustCompile(`(?i)(^|[\s'"‘“])[^\s'"‘’“”:/][^\s'"‘’“”:]*['"’”]?: (permission denied|operation not permitted|read-only)`)
	// named are the words of a line that may be paths.
	named = regexp.MustCompile(`[^\s'"` + "`" + `‘’“”:,;()\[\]{}<>=]+`)
)

const noLoopback = "have no network, not even loopback, so none can be a server"

// broken returns the rule that may be why a program has printed a line, or "".
func broken(rules procmgr.SandboxRules, line, dir string) string {
	switch {
	case rules.NoUnixSockets && socketless.MatchString(line):
		return "have no Unix sockets"
	case rules.NoLoopback && offline.MatchString(line):
		return noLoopback
	case rules.NoNetwork && offline.MatchString(line) && !own.MatchString(line):
		return "have no network"
	}
	denied := denials.MatchString(line) && !keys.MatchString(line)
	if !denied && !absences.MatchString(line) {
		return ""
	}
	outside := false
	for _, word := range named.FindAllString(denials.ReplaceAllString(line, " "), -1) {
		p := path.Clean(word)
		if !path.IsAbs(p) {
			if !path.IsAbs(dir) {
				continue
			}
			p = path.Join(dir, word)
		}
		if rule := covers(rules.Hide, p); rule != "" {
			return "cannot read " + rule
		}
		if rule := covers(rules.Protect, p); denied && rule != "" {
			return "may not write to " + rule
		}
		// A word that does not begin as a path does may be no file.
		surely := path.IsAbs(word) || strings.HasPrefix(word, "./") || strings.HasPrefix(word, "../")
		outside = outside || denied && surely && covers(rules.Write, p) == ""
	}
	if outside || denied && path.IsAbs(dir) && covers(rules.Write, dir) == "" && relative.MatchString(line) {
		return writes(rules.Write)
	}
	return ""
}

// writes says where commands may write.
func writes(dirs []string) string {
	switch more := len(dirs) - maxNamed; {
	case len(dirs) == 0:
		return "may write in $TMPDIR only"
	case more > 0:
		return "may write below " + strings.Join(dirs[:maxNamed], ", ") + " and " + strconv.Itoa(more) + " more, and in $TMPDIR only"
	}
	return "may write below " + strings.Join(dirs, ", ") + " and in $TMPDIR only"
}

// maxNamed is how many directories a note names.
const maxNamed = 8

// covers returns the path of a list that is p or above it, or "".
func covers(list []string, p string) string {
	for _, other := range list {
		if p == other || strings.HasPrefix(p, strings.TrimSuffix(other, "/")+"/") {
			return other
		}
	}
	return ""
}
