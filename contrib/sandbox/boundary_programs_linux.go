package sandbox

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"
)

// programs are the absolute paths of what Boundary runs in front of a shell.
type programs struct{ bwrap, nsenter, unshare, env, sh string }

// findPrograms returns an error that names the package of the first program that is
// missing. A program below Write, where a command may have put it, is never taken: it
// would run outside of the box.
func findPrograms(write []string) (programs, error) {
	var p programs
	for _, need := range []struct {
		path          *string
		name, pkgName string
	}{
		{&p.bwrap, "bwrap", "bubblewrap"},
		{&p.nsenter, "nsenter", "util-linux"},
		{&p.unshare, "unshare", "util-linux"},
		{&p.env, "env", "coreutils"},
		{&p.sh, "sh", "dash"},
	} {
		if *need.path = findProgram(need.name, write); *need.path == "" {
			return p, &lack{"Level Boundary", "PATH has no program " + need.name + " that commands cannot replace; install the package " + need.pkgName}
		}
	}
	// BusyBox's env has no such option, and the shell would not answer Ctrl-C.
	if out, err := exec.Command(p.env, "--default-signal=INT", p.sh, "-c", ":").CombinedOutput(); err != nil {
		return p, &lack{"Level Boundary", "env cannot set signals (" + firstLine(out) + "); install that of GNU, the package coreutils"}
	}
	if out, err := exec.Command(p.unshare, "--user", "--map-current-user", p.sh, "-c", ":").CombinedOutput(); err != nil {
		return p, &lack{"Level Boundary", "unshare makes no namespace of users (" + firstLine(out) + "); " + namespaceAdvice(string(out))}
	}
	return p, nil
}

// namespaceAdvice says how to enable user namespaces, after unshare failed to make one.
func namespaceAdvice(said string) string {
	if strings.Contains(said, "option") { // it does not know one, like BusyBox's unshare
		return "install that of the package util-linux"
	}
	for _, setting := range []struct{ name, forbids, allows string }{
		{"user/max_user_namespaces", "0", "10000"},
		{"kernel/unprivileged_userns_clone", "0", "1"},             // of Debian
		{"kernel/apparmor_restrict_unprivileged_userns", "1", "0"}, // of Ubuntu
	} {
		if value, err := os.ReadFile("/proc/sys/" + setting.name); err == nil && strings.TrimSpace(string(value)) == setting.forbids {
			return "allow them with: sysctl -w " + strings.ReplaceAll(setting.name, "/", ".") + "=" + setting.allows
		}
	}
	return "a container has to allow them, as by: docker run --security-opt seccomp=unconfined"
}

// findProgram returns the absolute path of a program in PATH, or "". It skips a program if
// its real path, or a symlink on the way to it, is below one of the write directories.
func findProgram(name string, write []string) string {
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		if !filepath.IsAbs(dir) || err != nil || !info.Mode().IsRegular() || unix.Access(path, unix.X_OK) != nil {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err == nil && !within(real, write) && linkBelow(path, write) == "" {
			return path
		}
	}
	return ""
}

func firstLine(out []byte) string {
	line, _, _ := bytes.Cut(bytes.TrimSpace(out), []byte("\n"))
	return string(line)
}

// A space is a namespace that this program has open. kind is its name in /proc, and
// as an option of nsenter.
type space struct {
	kind string
	fd   int
}

// makeSpaces makes the namespaces that all commands of a box share. The process that
// they begin with has ended when it returns.
func (p *programs) makeSpaces(network Network) (spaces []space, err error) {
	kinds := []string{"user", "ipc"}
	args := []string{"--unshare-user", "--unshare-ipc", "--cap-drop", "ALL", "--ro-bind", "/", "/"}
	if network == NoNetwork {
		kinds = append(kinds, "net")
		args = append(args, "--unshare-net") // and bwrap sets its loopback up
	}
	// It ends at the end of its input, so also with this program.
	first := exec.Command(p.bwrap, append(args, "--", p.sh, "-c", `echo "$$"; read -r _`)...)
	var stderr bytes.Buffer
	first.Stderr, first.Env = &stderr, []string{}
	input, err := first.StdinPipe()
	if err != nil {
		return nil, err
	}
	output, err := first.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := first.Start(); err != nil {
		return nil, err
	}
	pid, readErr := bufio.NewReader(output).ReadString('\n')
	if readErr == nil {
		spaces, err = openSpaces(strings.TrimSpace(pid), kinds)
	}
	_ = input.Close()
	_ = first.Wait() // read fails at the end of its input
	if readErr != nil {
		return nil, &lack{"Level Boundary", "bubblewrap makes no namespaces: " + firstLine(stderr.Bytes())}
	}
	return spaces, err
}

func openSpaces(pid string, kinds []string) (spaces []space, err error) {
	for _, kind := range kinds {
		fd, err := unix.Open("/proc/"+pid+"/ns/"+kind, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			closeSpaces(spaces)
			return nil, xerrors.Errorf("namespace %s: %w", kind, err)
		}
		spaces = append(spaces, space{kind, fd})
	}
	return spaces, nil
}

func closeSpaces(spaces []space) {
	for _, s := range spaces {
		_ = unix.Close(s.fd) // nothing was written
	}
}

// steers reports whether a variable names what the loader and the C library have a
// program load, or where they have it write. They ignore these variables in a setuid
// program. The last ones change the behavior of a bash that is called sh.
func steers(name string) bool {
	return strings.HasPrefix(name, "LD_") || strings.HasPrefix(name, "MALLOC_") || slices.Contains([]string{
		"GCONV_PATH", "GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN", "LOCPATH", "MUSL_LOCPATH",
		"NIS_PATH", "NLSPATH", "RESOLV_HOST_CONF", "RES_OPTIONS", "TZDIR",
		"SHELLOPTS", "BASHOPTS", "PS4",
	}, name)
}

// splitEnviron takes from an environment the variables that the programs outside of the
// box must not get. The shell gets them by its env.
func splitEnviron(environ []string) (outer, inner []string) {
	for _, kv := range environ {
		if name, _, ok := strings.Cut(kv, "="); ok && steers(name) {
			inner = append(inner, kv)
		} else {
			outer = append(outer, kv)
		}
	}
	return outer, inner
}

// shellPath returns the path of the shell, which is found on this program's PATH, as
// without a box. The PATH of the command may lead to another file.
func shellPath(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		if path, err = filepath.Abs(path); err == nil {
			return path
		}
	}
	return name // as without a box, the start fails
}
