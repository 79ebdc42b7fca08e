package sandbox

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/xerrors"
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
	outside := filepath.Join(e.layout.temp, "outside")
	if err := os.WriteFile(outside, []byte("x"), 0o644); err != nil { //nolint:gosec // temp itself is 0700
		return err
	}
	defer func() { _ = os.Remove(outside) }()
	server, err := net.Listen("unix", filepath.Join(e.layout.temp, "s"))
	if err != nil {
		return err
	}
	defer server.Close()
	probes := e.probes(p, outside)
	var script strings.Builder
	script.WriteString("echo \"$$\"; read -r _; : > \"${TMPDIR:?}/.probe\" && rm \"$TMPDIR/.probe\" && echo temp\n")
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
	out, err := e.try(p, args)
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

func (e *boundary) probes(p *Policy, outside string) []probe {
	pid := strconv.Itoa(os.Getpid())
	probes := []probe{
		{"Level Boundary", "a command can signal this program", "kill -0 " + pid, nil},
		{"Level Boundary", "a command can signal a thread of this program", "kill -0 " + strconv.Itoa(e.tid), nil},
		{"Level Boundary", "a command can read the environment of this program", "read -r _ < /proc/" + pid + "/environ || cat /proc/" + pid + "/environ", nil},
		{"Write", "/proc can be written to", "[ -w /proc/self/oom_score_adj ]", nil},
	}
	if !within(outside, p.Write) {
		probes = append(probes,
			probe{"Write", "a write outside succeeds", ": > %s", []string{outside}},
			probe{"Write", "chmod outside succeeds", "chmod 600 %s", []string{outside}},
			probe{"Write", "a Unix socket outside can be reached", "[ -w %s ]", []string{filepath.Join(e.layout.temp, "s")}})
	}
	for _, dir := range []string{"/", "/etc", "/usr", os.Getenv("HOME"), "/var/tmp"} {
		if filepath.IsAbs(dir) && !within(dir, p.Write) && !below(dir, sharedTemp) {
			probes = append(probes, probe{"Write", "a directory outside can be written to: " + dir, "[ -w %s ]", []string{dir}})
		}
	}
	for _, path := range p.Protect {
		probes = append(probes, probe{"Protect", "it can be written to: " + path, "[ -w %s ]", []string{path}})
	}
	for _, path := range p.Hide {
		probes = append(probes, probe{"Hide", "it can be read: " + path, ": < %s", []string{path}})
	}
	return probes
}

// try runs a command in the box that tells its number first, and goes on when its
// namespaces have been looked at. It returns the rest of its output.
func (e *boundary) try(p *Policy, argv []string) (string, error) {
	wrapped, _, err := e.wrap("", argv, nil)
	if err != nil {
		return "", err
	}
	cmd := exec.Command(wrapped[0], wrapped[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + e.layout.tmpdir}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	read, input, err := os.Pipe()
	if err != nil {
		return "", err
	}
	cmd.ExtraFiles = []*os.File{read} // descriptor 3, see wrap
	defer read.Close()
	defer input.Close()
	output, err := cmd.StdoutPipe()
	if err != nil {
		return "", err
	}
	if err := e.onThread(cmd.Start); err != nil {
		return "", err
	}
	_ = read.Close() // the command has it
	pid, readErr := readLine(output)
	if readErr == nil {
		err = checkSpaces(pid, p.Network)
	}
	_ = input.Close() // which lets it go on
	rest, _ := io.ReadAll(output)
	waitErr := cmd.Wait()
	switch {
	case readErr != nil:
		return "", &lack{"Level Boundary", "bubblewrap runs no command: " + firstLine(stderr.Bytes())}
	case err != nil:
		return "", err
	case waitErr != nil:
		return "", xerrors.Errorf("a command that was to try it fails: %w", waitErr)
	}
	return string(rest), nil
}

// readLine reads no byte behind the line.
func readLine(r io.Reader) (string, error) {
	var line []byte
	for one := make([]byte, 1); ; {
		switch _, err := io.ReadFull(r, one); {
		case err != nil:
			return "", err
		case one[0] == '\n':
			return string(line), nil
		}
		line = append(line, one[0])
	}
}

// checkSpaces returns an error if a process shares with this program a namespace that it
// must not share. With a network of its own that has nothing but a loopback, it reaches
// nobody by any protocol: TCP, MPTCP, UDP and what the kernel will have.
func checkSpaces(pid string, network Network) error {
	kinds := []string{"user", "mnt", "ipc"}
	if network == NoNetwork {
		kinds = append(kinds, "net")
	}
	for _, kind := range kinds {
		own, err := os.Readlink("/proc/self/ns/" + kind)
		if err != nil {
			return err
		}
		its, err := os.Readlink("/proc/" + pid + "/ns/" + kind)
		if err != nil {
			return xerrors.Errorf("a process in the box cannot be looked at: %w", err)
		}
		if own == its {
			part := "Level Boundary"
			if kind == "net" {
				part = "NoNetwork"
			}
			return &lack{part, "a command has the namespace of this program: " + kind}
		}
	}
	if network != NoNetwork {
		return nil
	}
	table, err := os.ReadFile("/proc/" + pid + "/net/dev")
	if err != nil {
		return err
	}
	devices := slices.Collect(strings.Lines(string(table)))
	for _, line := range devices[min(2, len(devices)):] {
		if name, _, _ := strings.Cut(strings.TrimSpace(line), ":"); name != "lo" {
			return &lack{"NoNetwork", "there is a network device " + name}
		}
	}
	return nil
}
