package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

const sharedTemp = "/tmp" // of the host and, in its place, of a box

// systemDirs are the host's directories that commands with UnixSockets read.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix", "/gnu"}

// kernelDirs are file systems of the kernel. None of them is for commands to write.
var kernelDirs = []string{"/dev", "/proc", "/sys"}

// starterPath is where the starter is in a box.
const starterPath = "/dev/.toolproc"

// A layout is what the commands of a box see of the files.
type layout struct {
	policy *Policy
	temp   string   // the directory of the box, which commands do not see
	tmpdir string   // TMPDIR of commands
	hide   []string // directories
	links  []link   // of Policy.Hide
	// owned are directories of the box that take the place of the host's.
	owned []ownedDir
	// own is the directory of this program, in which a command runs unless its request
	// names another one. It is "" if commands see it anyway, or must not.
	own    string
	places []place
}

// An ownedDir is a directory of the box in the place of one of the host.
type ownedDir struct{ path, source string }

// A link is a symbolic link below Write whose target is hidden.
type link struct{ path, target string }

// A place is a path at which a mount changes the rules for all below.
type place struct {
	path string
	kind placeKind
}

type placeKind int // of the same path, the later kind counts

const (
	owned     placeKind = iota // a directory of the box
	between                    // a directory that holds another place, and must not be moved away with it
	shown                      // only to be read: of Policy.Read, or the directory of this program in /tmp
	writable                   // of Policy.Write
	protected                  // of Policy.Protect
	hidden                     // of Policy.Hide
)

// newLayout makes what the box needs below temp.
func newLayout(p *Policy, temp string) (*layout, error) {
	for _, dir := range p.Write {
		if dir == "/" {
			return nil, xerrors.Errorf("Write has /, and commands could replace the programs that make the box: %w", procmgr.ErrInvalid)
		}
		if within(dir, kernelDirs) {
			return nil, xerrors.Errorf("Write has %.300q, and nothing below %s can be for commands to write: %w", dir, strings.Join(kernelDirs, ", "), procmgr.ErrInvalid)
		}
	}
	l := &layout{policy: p, temp: temp, tmpdir: sharedTemp}
	names := map[string]string{sharedTemp: "tmp"}
	if p.UnixSockets {
		names["/run"] = "run"
		home, err := filepath.EvalSymlinks(os.Getenv("HOME"))
		if _, other := names[home]; err == nil && !other && filepath.IsAbs(home) && home != "/" && !within(home, systemDirs) {
			names[home] = "home"
		}
	}
	for path, name := range names {
		if !within(path, p.Write) && !within(path, p.Read) {
			l.owned = append(l.owned, ownedDir{path, filepath.Join(temp, name)})
		}
	}
	slices.SortFunc(l.owned, func(a, b ownedDir) int { return strings.Compare(b.path, a.path) }) // the inner one first
	if !l.isOwned(sharedTemp) {
		l.tmpdir = filepath.Join(temp, "tmp")
	}
	for _, name := range []string{"tmp", "shm", "run", "home"} {
		dir := filepath.Join(temp, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil { //nolint:gosec // temp itself is 0700
			return nil, err
		}
	}
	for _, path := range p.Hide {
		if err := l.addHidden(path); err != nil {
			return nil, err
		}
	}
	for _, path := range p.Protect {
		if directory, err := isDirectory(path); err != nil || !directory && !isGitConfig(path) {
			return nil, xerrors.Errorf("Protect has %.300q, which is a file, and the rule would end as soon as a program puts another one in its place: "+
				"protect its directory (.git as a whole), or move it out of Write and put a symbolic link in its place: %w", path, procmgr.ErrInvalid)
		}
	}
	if err := l.plan(); err != nil {
		return nil, err
	}
	return l, makeStarter(l.starter(), writeRules(l.writes()))
}

// isGitConfig reports whether path is a .git/config, the only file that Protect may have.
func isGitConfig(path string) bool {
	return filepath.Base(path) == "config" && filepath.Base(filepath.Dir(path)) == ".git"
}

// addHidden notes what is hidden for a path of Policy.Hide.
func (l *layout) addHidden(path string) error {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return err
	}
	directory, err := isDirectory(real)
	if err != nil {
		return err
	}
	if real != path {
		l.links = append(l.links, link{path, real})
	}
	switch {
	case directory:
	case real == path, within(real, l.policy.Write):
		return xerrors.Errorf("Hide has %.300q, which is a file, and the rule would end as soon as a program puts another one in its place: "+
			"move it to a directory of its own outside of Write and put a symbolic link in its place, or hide its directory: %w", path, procmgr.ErrInvalid)
	default:
		real = filepath.Dir(real)
	}
	if real == "/" {
		return xerrors.Errorf("Hide has %.300q, and without the files of / no command runs: %w", path, procmgr.ErrInvalid)
	}
	l.hide = append(l.hide, real)
	return nil
}

// starter is the first program of a command, and not in a directory that commands see.
func (l *layout) starter() string { return filepath.Join(l.temp, "start") }

// within reports whether a path is one of some directories or below one of them.
func within(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return below(path, dir) })
}

// isOwned reports whether path is a directory of the box, or below one.
func (l *layout) isOwned(path string) bool {
	return slices.ContainsFunc(l.owned, func(o ownedDir) bool { return below(path, o.path) })
}

// writes returns the directories in which commands write.
func (l *layout) writes() []string {
	dirs := append(slices.Clone(l.policy.Write), l.tmpdir)
	for _, o := range l.owned {
		dirs = append(dirs, o.path)
	}
	return dirs
}

// unseen reports whether commands do not see a path of the host, by the directories that
// the box has.
func (l *layout) unseen(path string) bool {
	if within(path, l.policy.Write) || within(path, l.policy.Read) || l.own != "" && below(path, l.own) {
		return false
	}
	return l.isOwned(path) || l.policy.UnixSockets && !within(path, systemDirs) && !within(path, kernelDirs)
}

// plan sets places. A directory above another one comes first. What is between a
// directory of the box and one of Write is made there, before a command can make something
// else.
func (l *layout) plan() error {
	kinds := map[string]placeKind{}
	add := func(path string, kind placeKind) {
		if old, ok := kinds[path]; !ok || old < kind {
			kinds[path] = kind
		}
	}
	for _, o := range l.owned {
		add(o.path, owned)
	}
	if dir, err := os.Getwd(); err == nil && !l.policy.UnixSockets {
		if dir, err = filepath.EvalSymlinks(dir); err == nil && dir != sharedTemp && l.unseen(dir) && !within(dir, l.hide) {
			l.own = dir
		}
	}
	reads := slices.DeleteFunc(slices.Clone(l.policy.Read), func(path string) bool { return within(path, l.policy.Write) })
	if l.own != "" {
		reads = append(reads, l.own)
	}
	if l.policy.UnixSockets {
		// It is often a link to a file below /run.
		if real, err := filepath.EvalSymlinks("/etc/resolv.conf"); err == nil && l.unseen(real) {
			reads = append(reads, real)
		}
	}
	for _, path := range slices.Concat(l.policy.Write, reads) {
		kind := shown
		if slices.Contains(l.policy.Write, path) {
			kind = writable
		}
		add(path, kind)
		if !l.isOwned(path) || within(filepath.Dir(path), reads) {
			continue // it is there
		}
		dir := path
		if directory, err := isDirectory(path); err == nil && !directory {
			dir = filepath.Dir(path)
		}
		if err := os.MkdirAll(l.ofBox(dir), 0o755); err != nil { //nolint:gosec // temp itself is 0700
			return err
		}
		for parent := filepath.Dir(path); !l.isOwnedDir(parent); parent = filepath.Dir(parent) {
			add(parent, between)
		}
	}
	hide := l.hide
	if all := filepath.Dir(l.temp); !l.unseen(all) { // the directories of other boxes as well
		hide = append(slices.Clone(hide), all)
		if within(l.tmpdir, []string{l.temp}) {
			add(l.tmpdir, writable)
		}
	}
	for kind, paths := range map[placeKind][]string{protected: l.policy.Protect, hidden: hide} {
		for _, path := range paths {
			if l.unseen(path) || kind == protected && !within(path, l.policy.Write) {
				continue // it is so anyway
			}
			add(path, kind)
			for parent := filepath.Dir(path); within(parent, l.policy.Write) && !slices.Contains(l.policy.Write, parent); parent = filepath.Dir(parent) {
				add(parent, between)
			}
		}
	}
	for path, kind := range kinds {
		l.places = append(l.places, place{path, kind})
	}
	slices.SortFunc(l.places, func(a, b place) int { return strings.Compare(a.path, b.path) })
	return nil
}

// isOwnedDir reports whether a path is a directory of the box itself.
func (l *layout) isOwnedDir(path string) bool {
	return slices.ContainsFunc(l.owned, func(o ownedDir) bool { return o.path == path })
}

// ofBox returns where a path below a directory of the box is on the host.
func (l *layout) ofBox(path string) string {
	for _, o := range l.owned {
		if below(path, o.path) {
			return filepath.Join(o.source, strings.TrimPrefix(path, o.path))
		}
	}
	return path
}

// mounts returns the options of bwrap for one command. All places are looked at again:
// one that is a symbolic link now leads somewhere else.
func (l *layout) mounts() ([]string, error) {
	for _, named := range l.links {
		if real, err := filepath.EvalSymlinks(named.path); err != nil || real != named.target {
			return nil, xerrors.Errorf("%.300q of Hide is no link to %.300q any more, as a program has replaced it: move it there, and link to it again: %w", named.path, named.target, procmgr.ErrInvalid)
		}
	}
	var args, last []string
	if l.policy.UnixSockets {
		args, last = systemMounts(), []string{"--remount-ro", "/"}
	} else {
		args = []string{"--ro-bind", "/", "/"}
	}
	args = append(args, "--dev", "/dev", "--bind", filepath.Join(l.temp, "shm"), "/dev/shm", "--ro-bind", l.starter(), starterPath)
	for _, p := range l.places {
		source := p.path
		if p.kind == owned || p.kind == between && l.unseen(p.path) {
			source = l.ofBox(p.path)
		}
		directory, err := isDirectory(source)
		if err != nil && p.kind == shown && !within(p.path, l.policy.Read) {
			continue // the program runs in a directory that has gone
		}
		if err != nil {
			return nil, xerrors.Errorf("a path of its rules cannot be used any more (%v): %w", err, procmgr.ErrInvalid)
		}
		switch {
		case p.kind == protected, p.kind == shown:
			args = append(args, "--ro-bind", source, p.path)
		case p.kind != hidden:
			args = append(args, "--bind", source, p.path)
		case directory:
			mode := "0000"
			if slices.ContainsFunc(l.writes(), func(dir string) bool { return below(dir, p.path) }) {
				mode = "0111"
			}
			args = append(args, "--perms", mode, "--tmpfs", p.path)
			last = append(last, "--remount-ro", p.path)
		default:
			return nil, xerrors.Errorf("%.300q of Hide is no directory any more: %w", p.path, procmgr.ErrInvalid)
		}
	}
	kernel, err := kernelMounts(l.policy.Write)
	if err != nil {
		return nil, err
	}
	for _, path := range kernel {
		if l.ruleOf(path) == writable {
			last = append(last, "--remount-ro", path)
		}
	}
	return append(args, last...), nil
}

// kernelTypes are types of file systems of the kernel, with their numbers in statfs(2).
// Root needs no capability to write to most of their files.
var kernelTypes = map[string]int64{
	"proc": unix.PROC_SUPER_MAGIC, "sysfs": unix.SYSFS_MAGIC, "devtmpfs": unix.TMPFS_MAGIC,
	"cgroup": unix.CGROUP_SUPER_MAGIC, "cgroup2": unix.CGROUP2_SUPER_MAGIC, "bpf": unix.BPF_FS_MAGIC,
	"debugfs": unix.DEBUGFS_MAGIC, "tracefs": unix.TRACEFS_MAGIC, "securityfs": unix.SECURITYFS_MAGIC,
}

// kernelMounts returns where file systems of the kernel are mounted below some
// directories, as they are in a directory for chroot.
func kernelMounts(dirs []string) (paths []string, err error) {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(table)) {
		mount, source, _ := strings.Cut(line, " - ")
		kind, _, _ := strings.Cut(source, " ")
		number, known := kernelTypes[kind]
		fields := strings.Fields(mount)
		if !known || len(fields) < 5 {
			continue
		}
		path := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(fields[4])
		var is unix.Statfs_t
		if within(path, dirs) && unix.Statfs(path, &is) == nil && int64(is.Type) == number { //nolint:unconvert // Type has other types elsewhere
			paths = append(paths, path) // and no other mount covers it
		}
	}
	return paths, nil
}

// systemMounts returns the options of bwrap for a box that begins with nothing.
func systemMounts() (args []string) {
	for _, dir := range systemDirs {
		if target, err := os.Readlink(dir); err == nil {
			args = append(args, "--symlink", target, dir)
		} else if _, err := os.Lstat(dir); err == nil {
			args = append(args, "--ro-bind", dir, dir)
		}
	}
	return append(args, "--ro-bind", "/proc", "/proc", "--ro-bind", "/sys", "/sys", "--symlink", "/run", "/var/run")
}

// isDirectory reports whether path is a directory. path must not contain symlinks.
func isDirectory(path string) (bool, error) {
	fd, _, err := openExactly(path, false)
	if err != nil {
		return false, err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return false, err
	}
	return stat.Mode&unix.S_IFMT == unix.S_IFDIR, nil
}

// sees returns an error if commands do not see a directory of the host.
func (l *layout) sees(dir string) error {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return nil //nolint:nilerr // it is told when the shell is started
	}
	if l.unseen(real) {
		if info, err := os.Stat(l.ofBox(real)); err == nil && info.IsDir() && l.isOwned(real) {
			return nil
		}
		why := "which has a /tmp of its own"
		if l.policy.UnixSockets {
			why = "which has Read and Write alone, because it has UnixSockets"
		}
		return xerrors.Errorf("no such directory in the sandbox, %s: %.300q: %w", why, dir, procmgr.ErrInvalid)
	}
	if l.ruleOf(real) == hidden {
		return xerrors.Errorf("the sandbox hides the directory %.300q: %w", dir, procmgr.ErrInvalid)
	}
	return nil
}

// ruleOf returns the kind of the innermost place that a path is at or below, and between
// if there is none.
func (l *layout) ruleOf(path string) placeKind {
	kind := between
	for _, p := range l.places {
		if below(path, p.path) && p.kind != between {
			kind = p.kind
		}
	}
	return kind
}
