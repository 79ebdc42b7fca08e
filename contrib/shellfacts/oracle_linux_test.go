package shellfacts_test

import (
	"context"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/contrib/shellfacts"
)

// A deed is a program that a command has started, or a file that it has written.
type deed struct {
	program string   // that ran or wrote, as it was called
	chain   []string // the programs that started it, the first one first, and itself
	args    []string // of a program that has started
	wrote   string   // the file, from the directory of the command, or ""
}

// An oracle is a directory in which commands run while strace watches.
type oracle struct {
	dir   string // of the command, two levels below what may be written
	shell string
	trace string // what -x has printed
}

func newOracle(t testing.TB, shell string) *oracle {
	t.Helper()
	programs(t, "strace", shell)
	// strace may be forbidden.
	if out, err := exec.Command("strace", "-qq", "-e", "trace=none", "true").CombinedOutput(); err != nil {
		t.Skipf("%v: %s", err, out)
	}
	return &oracle{shell: shell}
}

// deeds runs a command, and returns what strace has seen.
func (o *oracle) deeds(t testing.TB, command string, setup func(dir string)) []deed {
	t.Helper()
	top := t.TempDir()
	o.dir = filepath.Join(top, "up", "work")
	traces := filepath.Join(top, "traces")
	home := filepath.Join(top, "home")
	for _, dir := range []string{o.dir, traces, home, filepath.Join(top, "tmp")} {
		require.NoError(t, os.MkdirAll(dir, 0o755))
	}
	if setup != nil {
		setup(o.dir)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	// What loops ends by itself.
	cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -t 10; ulimit -f 20000; exec strace "$@"`, "sh", "-ff", "-qq", "-y", "-s", "4096", "-o", filepath.Join(traces, "t"),
		"-e", "trace=chdir,fchdir,execve,open,openat,creat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,link,linkat,symlink,symlinkat,truncate,mknod,mknodat,clone,clone3,fork,vfork",
		o.shell, "-x", "-c", command)
	cmd.Dir = o.dir
	cmd.WaitDelay = time.Second
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + home, "LC_ALL=C.UTF-8", "TMPDIR=" + filepath.Join(top, "tmp"), "PWD=" + o.dir}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	var stderr strings.Builder
	cmd.Stderr = &stderr
	_ = cmd.Run() // it may fail
	o.trace = stderr.String()
	if ctx.Err() != nil {
		t.Logf("%q ran too long", command)
	}
	files, err := filepath.Glob(filepath.Join(traces, "t.*"))
	require.NoError(t, err)
	all := make(map[int][]string)
	children := make(map[int]bool)
	for _, file := range files {
		pid, err := strconv.Atoi(strings.TrimPrefix(filepath.Ext(file), "."))
		require.NoError(t, err)
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all[pid] = strings.Split(string(text), "\n")
		for _, line := range all[pid] {
			if m := forked.FindStringSubmatch(line); m != nil {
				child, _ := strconv.Atoi(m[1])
				children[child] = true
			}
		}
	}
	var deeds []deed
	for pid := range all {
		if !children[pid] {
			follow(all, pid, nil, top, o.dir, &deeds)
		}
	}
	return deeds
}

var (
	forked   = regexp.MustCompile(`^(?:clone|clone3|fork|vfork)\(.*\) += (\d+)`)
	executed = regexp.MustCompile(`^execve\("((?:[^"\\]|\\.)*)", \["((?:[^"\\]|\\.)*)"((?:, "(?:[^"\\]|\\.)*")*)\]`)
	entered  = regexp.MustCompile(`^(?:chdir\("|fchdir\(\d+<)(.*)[">]\) += 0$`)
	opened   = regexp.MustCompile(`^(?:open|openat|creat)\(.*(?:O_WRONLY|O_RDWR|O_CREAT|O_TRUNC).*\) += \d+<(.*)>$`)
	changed  = regexp.MustCompile(`^(rename|renameat|renameat2|unlink|unlinkat|mkdir|mkdirat|rmdir|link|linkat|symlink|symlinkat|truncate|mknod|mknodat)\((.*)\) += 0$`)
	// sed and ln make a file with such a name, and rename it.
	temporary = regexp.MustCompile(`^(?:sed|Cu)[A-Za-z0-9]{6}$`)
	escape    = regexp.MustCompile(`\\(?:[0-7]{1,3}|.)`)
	argument  = regexp.MustCompile(`(?:(AT_FDCWD|\d+)(?:<([^>]*)>)?, )?"((?:[^"\\]|\\.)*)"`)
)

// follow adds the deeds of a process and of its children.
func follow(all map[int][]string, pid int, chain []string, top, dir string, deeds *[]deed) {
	cwd := dir
	wrote := func(name string) {
		if strings.HasPrefix(name, "pipe:") || strings.HasPrefix(name, "socket:") {
			return
		}
		if !filepath.IsAbs(name) {
			name = filepath.Join(cwd, name)
		}
		if temporary.MatchString(filepath.Base(name)) {
			return
		}
		if inside(name, top) && !inside(name, filepath.Join(top, "tmp")) && !inside(name, filepath.Join(top, "traces")) && len(chain) > 0 {
			*deeds = append(*deeds, deed{program: chain[len(chain)-1], chain: slices.Clone(chain), wrote: name})
		}
	}
	for _, line := range all[pid] {
		if m := executed.FindStringSubmatch(line); m != nil && strings.HasSuffix(line, "= 0") {
			name := m[2]
			if base := path.Base(m[1]); strings.HasPrefix(base, "python") || path.Base(name) != base {
				name = m[1]
			}
			chain = append(slices.Clone(chain), name)
			d := deed{program: name, chain: chain}
			for _, arg := range argument.FindAllStringSubmatch(m[3], -1) {
				d.args = append(d.args, unescaped(arg[3]))
			}
			*deeds = append(*deeds, d)
		} else if m := entered.FindStringSubmatch(line); m != nil {
			to := m[1]
			if !filepath.IsAbs(to) {
				to = cwd + "/" + to
			}
			if real, err := filepath.EvalSymlinks(to); err == nil {
				cwd = real
			}
		} else if m := forked.FindStringSubmatch(line); m != nil {
			child, _ := strconv.Atoi(m[1])
			follow(all, child, chain, top, cwd, deeds)
		} else if m := opened.FindStringSubmatch(line); m != nil {
			wrote(unescaped(strings.TrimSuffix(m[1], " (deleted)")))
		} else if m := changed.FindStringSubmatch(line); m != nil {
			names := argument.FindAllStringSubmatch(m[2], -1)
			if !strings.HasPrefix(m[1], "rename") {
				names = names[len(names)-1:] // of link and symlink, what is made
			}
			for _, n := range names {
				name := unescaped(n[3])
				if n[2] != "" && !filepath.IsAbs(name) {
					name = filepath.Join(unescaped(n[2]), name)
				}
				wrote(name)
			}
		}
	}
}

// unescaped returns a name that strace has printed.
func unescaped(name string) string {
	return escape.ReplaceAllStringFunc(name, func(e string) string {
		if n, err := strconv.ParseUint(e[1:], 8, 8); err == nil {
			return string([]byte{byte(n)})
		}
		if at := strings.IndexByte("ntrvf", e[1]); at >= 0 {
			return "\n\t\r\v\f"[at : at+1]
		}
		return e[1:]
	})
}

func inside(name, dir string) bool { return name == dir || strings.HasPrefix(name, dir+"/") }

// unknown returns what a command did that its facts do not tell.
func (o *oracle) unknown(facts shellfacts.Facts, deeds []deed) string {
	if !facts.Complete {
		return ""
	}
	excused := func(name string) bool {
		return slices.ContainsFunc(facts.Programs, func(p shellfacts.Program) bool {
			return called(p, name) && (p.Files || !p.Known)
		})
	}
	for _, d := range deeds {
		switch {
		case slices.ContainsFunc(d.chain[1:], excused), d.wrote == "" && len(d.chain) == 1: // behind the shell of the command
		case d.wrote == "":
			if !slices.ContainsFunc(facts.Programs, func(p shellfacts.Program) bool {
				return called(p, d.program) && (!p.Literal || slices.Equal(p.Args, d.args))
			}) {
				return "ran " + strings.Join(d.chain, " > ") + strconv.Quote(strings.Join(d.args, " "))
			}
		default:
			if !slices.ContainsFunc(facts.Writes, func(p shellfacts.Path) bool { return o.names(p, d.wrote) }) {
				return strings.Join(d.chain, " > ") + " wrote " + d.wrote
			}
		}
	}
	return ""
}

// called reports whether a program that ran may be one of the facts.
func called(p shellfacts.Program, name string) bool {
	return p.Name == name || path.Base(p.Name) == path.Base(name)
}

// names reports whether a path of the facts is a file, or the directory that it is
// copied into or removed with.
func (o *oracle) names(p shellfacts.Path, file string) bool {
	name := p.Path
	if !filepath.IsAbs(name) {
		name = o.dir + "/" + name
	}
	// What .. means behind a symbolic link is for the system to say.
	at := strings.LastIndexByte(name, '/')
	if real, err := filepath.EvalSymlinks(name[:at]); err == nil {
		name = real + name[at:]
	}
	name = filepath.Clean(name)
	if inside(file, name) {
		return true
	}
	// A link to a directory is one, into which cp, mv and ln put what they make.
	if real, err := filepath.EvalSymlinks(name); err == nil && inside(file, real) {
		return true
	}
	if info, err := os.Lstat(file); err == nil && info.IsDir() && inside(name, file) && inside(file, o.dir) {
		return true // a directory on the way
	}
	return false
}

// No word of a shell is taken for a program, as the shells themselves list them.
func TestBuiltins(t *testing.T) {
	t.Parallel()
	programs(t, "bash", "busybox")
	list, err := exec.CommandContext(t.Context(), "bash", "-c", "compgen -bk").Output()
	require.NoError(t, err)
	help, err := exec.CommandContext(t.Context(), "busybox", "ash", "-c", "help").Output()
	require.NoError(t, err)
	_, names, _ := strings.Cut(string(help), "\n\t")
	allowed := strings.Fields("! : [ echo exit false kill printf pwd test time true wait")
	for _, name := range append(strings.Fields(string(list)), strings.Fields(names)...) {
		if slices.Contains(allowed, name) {
			continue
		}
		for _, command := range []string{name, name + " x", "ls; " + name + " x; ls", "sh -c '" + name + " x'", "time " + name + " x"} {
			require.False(t, shellfacts.Parse(command, "sh").Complete, command)
		}
	}
}
