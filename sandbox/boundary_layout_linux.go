package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

const sharedTemp = "/tmp" // of the host and, in its place, of a box

// A layout is what the commands of a box see of the files.
type layout struct {
	policy *Policy
	temp   string // the directory of the box, which commands do not see
	tmpdir string // TMPDIR of commands
	boxed  bool   // /tmp is that of the box, which is temp/tmp
	// own is the directory of this program, in which a command runs unless its request
	// names another one. It is "" if commands see it anyway, or must not.
	own    string
	places []place
}

// A place is a path at which a mount changes the rules for all below.
type place struct {
	path string
	kind placeKind
}

type placeKind int // of the same path, the later kind counts

const (
	boxTemp   placeKind = iota // the /tmp of the box
	between                    // a directory that holds another place, and must not be moved away with it
	shown                      // a directory of the host's /tmp, only to be read
	writable                   // of Policy.Write
	protected                  // of Policy.Protect
	hidden                     // of Policy.Hide
)

// newLayout makes what the box needs below temp.
func newLayout(p *Policy, temp string) (*layout, error) {
	for _, dir := range p.Write {
		for _, system := range []string{"/dev", "/proc", "/sys"} {
			if below(dir, system) {
				return nil, xerrors.Errorf("Write has %.300q, and nothing below %s can be for commands to write: %w", dir, system, procmgr.ErrInvalid)
			}
		}
	}
	if slices.Contains(p.Hide, "/") {
		return nil, xerrors.Errorf("Hide has /, and without a file no command runs: %w", procmgr.ErrInvalid)
	}
	l := &layout{policy: p, temp: temp, boxed: !within(sharedTemp, p.Write)}
	l.tmpdir = sharedTemp
	if !l.boxed {
		l.tmpdir = filepath.Join(temp, "tmp")
	}
	for _, name := range []string{"tmp", "shm"} {
		dir := filepath.Join(temp, name)
		if err := os.Mkdir(dir, 0o700); err != nil {
			return nil, err
		}
		if err := os.Chmod(dir, 0o777|fs.ModeSticky); err != nil { //nolint:gosec // temp itself is 0700
			return nil, err
		}
	}
	if err := os.WriteFile(l.nothing(), nil, 0); err != nil {
		return nil, err
	}
	return l, l.plan()
}

// nothing is a file that nobody may read.
func (l *layout) nothing() string { return filepath.Join(l.temp, "nothing") }

// within reports whether a path is one of some directories or below one of them.
func within(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return below(path, dir) })
}

// unseen reports whether the /tmp of the box takes the place of a path of the host.
func (l *layout) unseen(path string) bool {
	return l.boxed && below(path, sharedTemp) && !within(path, l.policy.Write) && (l.own == "" || !below(path, l.own))
}

// plan sets places. A directory above another one comes first. What is between the /tmp
// of the box and a directory of Write is made there, before a command can make something
// else.
func (l *layout) plan() error {
	kinds := map[string]placeKind{}
	add := func(path string, kind placeKind) {
		if old, ok := kinds[path]; !ok || old < kind {
			kinds[path] = kind
		}
	}
	if l.boxed {
		add(sharedTemp, boxTemp)
	}
	if dir, err := os.Getwd(); err == nil {
		if dir, err = filepath.EvalSymlinks(dir); err == nil && dir != sharedTemp && l.unseen(dir) && !within(dir, l.policy.Hide) {
			l.own = dir
		}
	}
	if l.own != "" {
		add(l.own, shown)
	}
	for _, dir := range slices.Concat(l.policy.Write, []string{l.own}) {
		if within(dir, l.policy.Write) {
			add(dir, writable)
		}
		if l.boxed && below(dir, sharedTemp) && (dir == l.own || l.own == "" || !below(dir, l.own)) {
			if err := os.MkdirAll(l.ofBox(dir), 0o755); err != nil { //nolint:gosec // temp itself is 0700
				return err
			}
			for parent := filepath.Dir(dir); parent != sharedTemp; parent = filepath.Dir(parent) {
				add(parent, between)
			}
		}
	}
	for kind, paths := range map[placeKind][]string{protected: l.policy.Protect, hidden: l.policy.Hide} {
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

// ofBox returns where a path below /tmp of the box is on the host.
func (l *layout) ofBox(path string) string {
	return filepath.Join(l.temp, "tmp", strings.TrimPrefix(path, sharedTemp))
}

// mounts returns the options of bwrap for one command. All places are looked at again:
// one that is a symbolic link now leads somewhere else.
func (l *layout) mounts() ([]string, error) {
	args := []string{"--ro-bind", "/", "/"}
	if slices.Contains(l.policy.Write, "/") {
		args = []string{"--bind", "/", "/", "--ro-bind", "/proc", "/proc", "--ro-bind", "/sys", "/sys"}
	}
	args = append(args, "--dev", "/dev", "--bind", filepath.Join(l.temp, "shm"), "/dev/shm")
	var last []string
	for _, p := range l.places {
		if p.path == "/" {
			continue
		}
		source := p.path
		if p.kind == boxTemp || p.kind == between && l.unseen(p.path) {
			source = l.ofBox(p.path)
		}
		directory, err := isDirectory(source)
		if err != nil && p.kind == shown {
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
			if slices.ContainsFunc(l.policy.Write, func(dir string) bool { return below(dir, p.path) }) {
				mode = "0111"
			}
			args = append(args, "--perms", mode, "--tmpfs", p.path)
			last = append(last, "--remount-ro", p.path)
		default:
			args = append(args, "--ro-bind", l.nothing(), p.path)
		}
	}
	for _, path := range l.sockets() {
		args = append(args, "--ro-bind", l.nothing(), path)
	}
	return append(args, last...), nil
}

// isDirectory reports what a path of which no part is a symbolic link is.
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
		if info, err := os.Stat(l.ofBox(real)); err == nil && info.IsDir() {
			return nil
		}
		return xerrors.Errorf("no such directory in the sandbox, which has a /tmp of its own: %.300q: %w", dir, procmgr.ErrInvalid)
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

// settled is how old a socket is that a box covers. bwrap fails if a path has gone that
// is to be covered, and a young socket may go at any time.
const settled = 200 * time.Millisecond

// sockets returns the Unix sockets of the host that commands could reach by a path, such
// as that of Docker. A mount that cannot be written to does not keep anybody from
// connecting.
func (l *layout) sockets() []string {
	var found []string
	for _, path := range slices.Concat(socketPaths(), mountPoints()) {
		var stat unix.Stat_t
		if unix.Lstat(path, &stat) != nil || stat.Mode&unix.S_IFMT != unix.S_IFSOCK || time.Since(time.Unix(stat.Ctim.Unix())) < settled {
			continue
		}
		real, err := filepath.EvalSymlinks(path)
		if err != nil || l.unseen(real) || below(real, "/dev") || !reachable(real) {
			continue
		}
		switch l.ruleOf(real) {
		case writable, hidden:
			continue
		}
		found = append(found, real)
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// reachable reports whether a command can come to a path. As root it has no capability,
// and cannot where another user alone may.
func reachable(path string) bool {
	for dir := filepath.Dir(path); ; dir = filepath.Dir(dir) {
		var stat unix.Stat_t
		if unix.Stat(dir, &stat) != nil {
			return false
		}
		search := uint32(unix.S_IXOTH)
		switch _, noList := unix.Getxattr(dir, "system.posix_acl_access", nil); {
		case noList == nil:
			search = unix.S_IXUSR | unix.S_IXGRP | unix.S_IXOTH // the list may let it
		case int(stat.Uid) == os.Geteuid():
			search = unix.S_IXUSR
		case slices.Contains(groups(), int(stat.Gid)):
			search = unix.S_IXGRP
		}
		if stat.Mode&search == 0 {
			return false
		}
		if dir == "/" {
			return true
		}
	}
}

func groups() []int {
	all, err := os.Getgroups()
	if err != nil {
		return []int{os.Getegid()}
	}
	return append(all, os.Getegid())
}

// socketPaths returns the paths of all Unix sockets of this program's network.
func socketPaths() []string {
	return linesOf("/proc/net/unix", func(line string) string {
		for range 7 { // the path, which may have spaces, is the rest
			_, line, _ = strings.Cut(strings.TrimLeft(line, " "), " ")
		}
		return line
	})
}

// mountPoints returns where something is mounted. In a container, a socket of the host
// is.
func mountPoints() []string {
	return linesOf("/proc/self/mountinfo", func(line string) string {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			return ""
		}
		return unescape.Replace(fields[4])
	})
}

// unescape undoes how proc(5) writes a path among fields.
var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func linesOf(file string, field func(line string) string) (fields []string) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if f := field(strings.TrimSuffix(line, "\n")); filepath.IsAbs(f) {
			fields = append(fields, f)
		}
	}
	return fields
}
