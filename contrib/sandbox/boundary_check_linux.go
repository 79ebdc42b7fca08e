package sandbox

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// A probe is something that a command in the box must not be able to do.
type probe struct {
	part, what string // what is not enforced, and what succeeded
	script     string // succeeds if it can be done
	args       []string
}

// check has a command in the box try what its rules forbid. The error names the first
// thing that it can do.
func (e *boundary) check(p *Policy) error {
	probes := e.probes(p)
	var script strings.Builder
	script.WriteString(": > \"${TMPDIR:?}/.probe\" && rm \"$TMPDIR/.probe\" && echo temp\n")
	args := []string{e.programs.sh, "-c", "", "probe"}
	for i, probe := range probes {
		refs := make([]any, len(probe.args))
		for j, arg := range probe.args {
			args = append(args, arg)
			refs[j] = fmt.Sprintf(`"${%d}"`, len(args)-4)
		}
		fmt.Fprintf(&script, "if ( %s ) > /dev/null 2>&1; then echo %d; fi\n", fmt.Sprintf(probe.script, refs...), i)
	}
	args[2] = script.String() + "echo end\n"
	out, err := e.try(args)
	if err != nil {
		return err
	}
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if lines[len(lines)-1] != "end" {
		return &lack{"Level Boundary", "a command that was to try it has ended early"}
	}
	if lines[0] != "temp" {
		return &lack{"Level Boundary", "a command cannot write in its temporary directory"}
	}
	for _, line := range lines[1 : len(lines)-1] {
		if i, err := strconv.Atoi(line); err == nil && i < len(probes) {
			return &lack{probes[i].part, probes[i].what}
		}
	}
	return nil
}

func (e *boundary) probes(p *Policy) []probe {
	pid := strconv.Itoa(os.Getpid())
	probes := []probe{
		{"Level Boundary", "a command can signal this program", "kill -0 " + pid, nil},
		{"Level Boundary", "a command can signal a thread of this program", "kill -0 " + strconv.Itoa(e.tid), nil},
		{"Level Boundary", "a command can read the environment of this program", "read -r _ < /proc/" + pid + "/environ || cat /proc/" + pid + "/environ", nil},
		{"Write", "/proc can be written to", "[ -w /proc/self/oom_score_adj ]", nil},
		{"Write", "a write that no mount keeps from it succeeds", ": > /dev/toolproc", nil},
	}
	kinds := map[string]string{"user": "Level Boundary", "mnt": "Level Boundary", "ipc": "Level Boundary"}
	if p.Network == NoNetwork {
		kinds["net"] = "NoNetwork"
		// Without another device, a command reaches nothing outside by any protocol: TCP,
		// MPTCP, UDP and what the kernel will have.
		probes = append(probes, probe{"NoNetwork", "there is a network device besides the loopback",
			"while read -r name _; do case $name in lo:* | Inter-* | face*) ;; *) exit 0 ;; esac; done < /proc/self/net/dev || exit 0; exit 1", nil})
	}
	for kind, part := range kinds {
		own, _ := os.Readlink("/proc/self/ns/" + kind)
		probes = append(probes, probe{part, "a command has the namespace of this program: " + kind,
			"[ \"$(readlink /proc/self/ns/" + kind + " || echo %[1]s)\" = %[1]s ]", []string{own}})
	}
	for _, dir := range []string{"/", "/etc", "/usr", os.Getenv("HOME"), "/var/tmp"} {
		if filepath.IsAbs(dir) && !within(dir, p.Write) && !e.layout.unseen(dir) {
			probes = append(probes, probe{"Write", "a directory outside can be written to: " + dir, "[ -w %s ]", []string{dir}})
		}
	}
	for _, path := range p.Protect {
		probes = append(probes, probe{"Protect", "it can be written to: " + path, "[ -w %s ]", []string{path}})
	}
	for _, path := range e.layout.hide {
		if !e.layout.unseen(path) { // or a directory of the box may be there, on the way to one of Write
			probes = append(probes, probe{"Hide", "it can be read: " + path, ": < %s", []string{path}})
		}
	}
	return probes
}

// try runs a command in the box and returns its output.
func (e *boundary) try(argv []string) (string, error) {
	wrapped, _, err := e.wrap("", argv, nil)
	if err != nil {
		return "", err
	}
	cmd := exec.Command(wrapped[0], wrapped[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + e.layout.tmpdir}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	input, err := os.Open(os.DevNull)
	if err != nil {
		return "", err
	}
	defer input.Close()
	cmd.ExtraFiles = []*os.File{input} // descriptor 3, see wrap
	if err := e.onThread(cmd.Start); err != nil {
		return "", err
	}
	if err := cmd.Wait(); err != nil {
		return "", &lack{"Level Boundary", "bubblewrap runs no command: " + firstLine(stderr.Bytes())}
	}
	return stdout.String(), nil
}
