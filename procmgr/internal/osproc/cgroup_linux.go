package osproc

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/owndir"
	"github.com/toolproc/toolproc/procmgr/internal/sentinel"
)

// cgroupPrefix begins the name of the directory that each System makes for
// itself in Config.Cgroup.
const cgroupPrefix = "toolproc-"

// cgroups is the directory of one System. Every tree has a cgroup of its own in
// it. The directory's lock tells a later System whether this one still lives.
type cgroups struct{ dir *owndir.Dir }

// openCgroups makes the directory of a System, checks that a process can be
// started and killed in it, and ends everything that dead Systems left beside
// it.
func openCgroups(config *Config) (*cgroups, error) {
	parent, log := config.Cgroup, config.Logger
	var stat unix.Statfs_t
	if err := unix.Statfs(parent, &stat); err != nil {
		return nil, xerrors.Errorf("cgroup %s: %w", parent, err)
	}
	if stat.Type != unix.CGROUP2_SUPER_MAGIC {
		return nil, xerrors.Errorf("cgroup %s: this is no directory of a cgroup v2 file system: %w", parent, sentinel.ErrInvalid)
	}
	dir, err := owndir.Make(parent, cgroupPrefix, 0o755)
	if errors.Is(err, owndir.ErrRemoved) {
		return nil, xerrors.Errorf("cgroup %s: other programs keep removing what is made there: %w", parent, sentinel.ErrInvalid)
	} else if err != nil {
		return nil, cgroupError(parent, err)
	}
	c := &cgroups{dir}
	if err := c.probe(); err != nil {
		c.close()
		return nil, err
	}
	endOrphans(parent, log)
	return c, nil
}

// cgroupError says why a directory cannot be used.
func cgroupError(path string, err error) error {
	why := "it cannot be used"
	switch {
	case errors.Is(err, unix.EROFS):
		why = "it is mounted read-only, as in most containers"
	case errors.Is(err, fs.ErrPermission):
		why = "it is not delegated to this user: its directory, its cgroup.procs and those of the cgroup that this program is in must be writable"
	case errors.Is(err, unix.EOPNOTSUPP):
		why = "it is a threaded cgroup, which takes no processes"
	case errors.Is(err, unix.EBUSY):
		why = "it has processes of its own and controllers for its children, which the kernel does not allow together"
	case errors.Is(err, unix.ENOSYS), errors.Is(err, unix.E2BIG):
		why = "this kernel cannot start a process in a cgroup (Linux 5.7)"
	}
	return xerrors.Errorf("cgroup %s: %s (%v): %w", path, why, err, sentinel.ErrInvalid)
}

// probe runs a program in a cgroup. If something is wrong with the directory, it must
// not look later as if a command were wrong.
func (c *cgroups) probe() error {
	one, err := c.add()
	if err != nil {
		return err
	}
	defer one.remove()
	if _, err := os.Stat(one.file("cgroup.kill")); err != nil {
		return xerrors.Errorf("cgroup %s: this kernel cannot kill a cgroup (Linux 5.14): %w", c.dir.Path, sentinel.ErrInvalid)
	}
	fd, err := one.open()
	if err != nil {
		return cgroupError(c.dir.Path, err)
	}
	defer unix.Close(fd)
	cmd := exec.Command("sh", "-c", ":")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: fd}
	if err := cmd.Run(); err != nil {
		return cgroupError(c.dir.Path, err)
	}
	return nil
}

// endOrphans kills the processes of Systems that died before Close. If a host
// is killed, its processes live on, and the next System ends them.
func endOrphans(parent string, log *slog.Logger) {
	for path := range owndir.Abandoned(parent, cgroupPrefix) {
		orphan := &cgroup{path: path}
		pids := orphan.pids()
		err := orphan.kill()
		for range 100 {
			if !orphan.populated() {
				break
			}
			time.Sleep(10 * time.Millisecond) // the kernel does not tell when this ends
		}
		orphan.remove()
		attrs := []slog.Attr{slog.String("cgroup", path), slog.Int("processes", len(pids))}
		if err != nil {
			attrs = append(attrs, slog.String("error", err.Error()))
		}
		log.LogAttrs(context.Background(), slog.LevelWarn, "processes of a manager that has died were ended", attrs...)
	}
}

// add makes the cgroup of one tree. It returns nil if c is nil.
func (c *cgroups) add() (*cgroup, error) {
	if c == nil {
		return nil, nil
	}
	path := filepath.Join(c.dir.Path, owndir.Name())
	if err := os.Mkdir(path, 0o755); err != nil {
		return nil, cgroupError(c.dir.Path, err)
	}
	return &cgroup{path: path}, nil
}

// close removes the directory, if nothing is left in it.
func (c *cgroups) close() {
	if c == nil {
		return
	}
	(&cgroup{path: c.dir.Path}).remove()
	c.dir.Unlock()
}

// A cgroup holds one tree: all its members, whatever sessions they make and
// however they change their environment.
type cgroup struct{ path string }

func (g *cgroup) file(name string) string { return filepath.Join(g.path, name) }

// open returns a descriptor with which a process can be started in the cgroup.
func (g *cgroup) open() (int, error) {
	return unix.Open(g.path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
}

// kill sends SIGKILL at once to every process in the cgroup and below. Not even
// a fork escapes.
func (g *cgroup) kill() error { return os.WriteFile(g.file("cgroup.kill"), []byte("1"), 0) }

// populated reports whether any process lives in the cgroup or below. A zombie
// does not.
func (g *cgroup) populated() bool {
	events, err := os.ReadFile(g.file("cgroup.events"))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist) // no descriptor is left to read it: a member may live
	}
	return strings.Contains("\n"+string(events), "\npopulated 1\n")
}

// dirs returns the cgroup's directory and all directories below it, the outer
// ones first.
func (g *cgroup) dirs() []string {
	dirs := []string{g.path}
	for i := 0; i < len(dirs); i++ {
		entries, _ := os.ReadDir(dirs[i]) // a directory that has gone has nothing in it
		for _, e := range entries {
			if e.IsDir() {
				dirs = append(dirs, filepath.Join(dirs[i], e.Name()))
			}
		}
	}
	return dirs
}

// pids returns the processes in the cgroup and below.
func (g *cgroup) pids() (pids []int) {
	for _, dir := range g.dirs() {
		procs, _ := os.ReadFile(filepath.Join(dir, "cgroup.procs"))
		for field := range strings.FieldsSeq(string(procs)) {
			// 0 is a process that is not in this program's pid namespace.
			if pid, err := strconv.Atoi(field); err == nil && pid != 0 {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// members returns the live members of the cgroup. A pidfd holds each; it was
// opened before the cgroup was asked whether the process is in it. It reports false
// if there are others that this program cannot see or hold.
func (g *cgroup) members() (members []member, all bool) {
	if !g.populated() {
		return nil, true
	}
	var opened []member
	for _, pid := range g.pids() {
		if m, err := openMember(pid); err == nil {
			opened = append(opened, m)
		}
	}
	still := g.pids()
	for _, m := range opened {
		if slices.Contains(still, m.pid) && m.alive() {
			members = append(members, m)
		} else {
			m.close()
		}
	}
	return members, len(members) > 0 || !g.populated()
}

// outOfMemory reports whether the kernel's out-of-memory killer has ended a process of
// the cgroup, if that has a memory controller. In a pipeline, the exit code is of the
// last command alone.
func (g *cgroup) outOfMemory() bool {
	if g == nil {
		return false
	}
	text, _ := os.ReadFile(g.file("memory.events")) // there is none without the controller
	for line := range strings.Lines(string(text)) {
		if kills, ok := strings.CutPrefix(line, "oom_kill "); ok {
			return strings.TrimSpace(kills) != "0"
		}
	}
	return false
}

// remove removes an empty cgroup and the cgroups below it.
func (g *cgroup) remove() {
	if g == nil {
		return
	}
	for _, dir := range slices.Backward(g.dirs()) {
		_ = unix.Rmdir(dir) // EBUSY: a process lives there
	}
}
