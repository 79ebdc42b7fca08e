package sandbox_test

import (
	"flag"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/toolproc/toolproc/contrib/sandbox"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prochttp"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func TestMain(m *testing.M) {
	prockeep.Main(sandbox.FromJSON)
	if name := os.Getenv("ATTACK"); name != "" {
		os.Exit(attackNow(name))
	}
	os.Exit(m.Run())
}

// canary is the memory of this program that an attack is after.
var canary = []byte{1}

// Each attack succeeds without a box, and with one as the table says.
func TestAttacks(t *testing.T) {
	// With Boundary, the box has a /tmp of its own.
	base, err := os.MkdirTemp("/var/tmp", "toolproc-attacks-") //nolint:usetesting // with Boundary, /tmp is another one
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(base)) })
	in, out := filepath.Join(base, "in"), filepath.Join(base, "out")
	for _, dir := range []string{in, out} {
		require.NoError(t, os.Mkdir(dir, 0o755))
	}
	inherited, err := unix.Open("/", unix.O_RDONLY|unix.O_DIRECTORY, 0) // and not O_CLOEXEC
	require.NoError(t, err)
	defer unix.Close(inherited)
	udp, err := net.ListenPacket("udp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = udp.Close() }()
	open, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM, 0) // and not SOCK_CLOEXEC
	require.NoError(t, err)
	defer unix.Close(open)
	require.NoError(t, unix.Connect(open, &unix.SockaddrInet4{Port: udp.LocalAddr().(*net.UDPAddr).Port, Addr: [4]byte{127, 0, 0, 1}}))
	plain := newLocal(t, nil)
	boxed := func(level sandbox.Level) *proclocal.Local {
		return newLocal(t, newBox(t, sandbox.Policy{Write: []string{in}, Network: sandbox.NoNetwork, Level: level}))
	}
	accidents := boxed(sandbox.Accidents)
	thread := forkingThread(t)
	var boundary *proclocal.Local
	boundaryThread := thread
	if _, err := exec.LookPath("bwrap"); err == nil {
		boundary = boxed(sandbox.Boundary)
		boundaryThread = forkingThread(t, thread)
	}

	victim := exec.CommandContext(t.Context(), "sleep", "1000")
	require.NoError(t, victim.Start())
	defer func() {
		_ = victim.Process.Kill()
		_ = victim.Wait() // killed
	}()
	held, err := os.OpenFile(filepath.Join(out, "held"), os.O_CREATE|os.O_RDWR, 0o600)
	require.NoError(t, err)
	defer held.Close()
	read, printed, err := os.Pipe()
	require.NoError(t, err)
	defer read.Close()
	defer printed.Close()
	tcp, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer tcp.Close()
	go func() { // ends with udp
		for b := make([]byte, 1); ; {
			n, from, err := udp.ReadFrom(b)
			if err != nil {
				return
			}
			_, _ = udp.WriteTo(b[:n], from) // who does not get it says so
		}
	}()
	path, abstract := filepath.Join(base, "s"), "toolproc-"+procmgr.NewID()
	shared := filepath.Join("/dev/shm", abstract)
	require.NoError(t, os.WriteFile(shared, nil, 0o600))
	defer func() { _ = os.Remove(shared) }()
	for _, address := range []string{path, "@" + abstract} {
		l, err := net.Listen("unix", address)
		require.NoError(t, err)
		defer l.Close()
	}
	renamed, datagrams, fifo := filepath.Join(base, "renamed"), filepath.Join(base, "datagrams"), filepath.Join(base, "fifo")
	server, err := prochttp.ListenUnix(renamed)
	require.NoError(t, err)
	defer server.Close()
	receiver, err := net.ListenPacket("unixgram", datagrams)
	require.NoError(t, err)
	defer func() { _ = receiver.Close() }()
	require.NoError(t, unix.Mkfifo(fifo, 0o600))
	reader, err := os.OpenFile(fifo, os.O_RDWR, 0)
	require.NoError(t, err)
	defer reader.Close()
	terminal := openTerminal(t)
	authority := filepath.Join(base, "authority")
	if os.Geteuid() == 0 {
		program, err := os.ReadFile("/usr/bin/id")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(authority, program, 0o755))
		require.NoError(t, os.Chown(authority, 65534, 65534))
		require.NoError(t, os.Chmod(authority, 0o755|os.ModeSetuid))
		require.NoError(t, os.Chmod(base, 0o755))
	}
	self, err := os.Executable()
	require.NoError(t, err)
	attacker, err := os.ReadFile(self)
	require.NoError(t, err)
	self = filepath.Join(in, "attacker")
	require.NoError(t, os.WriteFile(self, attacker, 0o755))

	// attacked runs all attacks in a Local, and returns what those have said that have
	// failed, by their number.
	attacked := func(l *proclocal.Local, thread int) map[int]string {
		run := procmgr.NewID()
		scene := []string{filepath.Join(in, run), filepath.Join(out, run)}
		for i := range attacks {
			for _, dir := range scene {
				dir = filepath.Join(dir, strconv.Itoa(i))
				require.NoError(t, os.MkdirAll(filepath.Join(dir, "dir"), 0o755))
				require.NoError(t, os.WriteFile(filepath.Join(dir, "file"), []byte("full"), 0o600))
			}
		}
		for _, n := range []int{os.Getpid(), thread, int(uintptr(unsafe.Pointer(&canary[0]))), victim.Process.Pid, int(held.Fd())} {
			scene = append(scene, strconv.Itoa(n))
		}
		scene = append(scene, path, abstract, authority, tcp.Addr().String(), udp.LocalAddr().String(), terminal, strconv.Itoa(int(printed.Fd())), renamed, datagrams, fifo, strconv.Itoa(inherited), strconv.Itoa(open))
		out, err := l.Start(t.Context(), procmgr.StartRequest{
			Command: "exec '" + self + "'", Wait: long, WorkDir: in,
			Env: map[string]string{"ATTACK": "all", "SCENE": strings.Join(scene, "|")},
		})
		require.NoError(t, err)
		said := make(map[int]string)
		for line := range strings.Lines(out.Text) {
			var n int
			var text string
			_, err := fmt.Sscanf(line, "%d %q", &n, &text)
			require.NoError(t, err, out.Text)
			said[n] = text
		}
		require.NotEmpty(t, said, "%+v", out)
		return said
	}
	without := attacked(plain, thread)
	with := map[sandbox.Level]map[int]string{sandbox.Accidents: attacked(accidents, thread)}
	if boundary != nil {
		with[sandbox.Boundary] = attacked(boundary, boundaryThread)
	}
	worked := 0 // without a box
	for i, a := range attacks {
		for level, want := range map[sandbox.Level]verdict{sandbox.Accidents: a.accidents, sandbox.Boundary: a.boundary} {
			t.Run(fmt.Sprintf("%s/%s/%v", a.group, a.name, level), func(t *testing.T) {
				if a.root {
					root(t)
				}
				if with[level] == nil {
					programs(t, "bwrap")
				}
				if without[i] != "" {
					t.Logf("this machine stops it without a box: %s", without[i])
					return
				}
				worked++
				if os.Geteuid() == 0 && want == stopsUser {
					return // it depends on the version of Linux
				}
				passes := want == passes || want == stopsRoot && os.Geteuid() != 0
				require.Equal(t, passes, with[level][i] == "", with[level][i])
			})
		}
	}
	require.Greater(t, worked, 60)
}

// openTerminal returns the path of a terminal that is open until the end of the test.
func openTerminal(t *testing.T) string {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { _ = master.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	return "/dev/pts/" + strconv.Itoa(number)
}

// forkingThread returns the one thread of this program that has the rules, besides others
// that are known.
func forkingThread(t *testing.T, known ...int) int {
	t.Helper()
	tasks, err := os.ReadDir("/proc/self/task")
	require.NoError(t, err)
	var found []int
	for _, task := range tasks {
		status, err := os.ReadFile("/proc/self/task/" + task.Name() + "/status")
		if err == nil && strings.Contains(string(status), "NoNewPrivs:\t1") {
			n, err := strconv.Atoi(task.Name())
			require.NoError(t, err)
			if !slices.Contains(known, n) {
				found = append(found, n)
			}
		}
	}
	require.Len(t, found, 1, "one thread alone is restricted")
	require.NotEqual(t, os.Getpid(), found[0], "and not the first one, which stands for the program")
	return found[0]
}

// securityPage has the table of the attacks.
const securityPage = "../../docs/security.md"

var update = flag.Bool("update", false, "write the table in docs/security.md anew")

// The page has the table of the attacks. Attacks of a group that end alike share a line.
func TestSecurityPage(t *testing.T) {
	lines := []string{"| attack | Accidents | Boundary |", "|---|---|---|"}
	for i := 0; i < len(attacks); {
		first, names := attacks[i], []string(nil)
		for ; i < len(attacks) && attacks[i].group == first.group && attacks[i].accidents == first.accidents && attacks[i].boundary == first.boundary; i++ {
			names = append(names, attacks[i].name)
		}
		lines = append(lines, fmt.Sprintf("| %s: %s | %s | %s |", first.group, strings.Join(names, "; "), first.accidents, first.boundary))
	}
	const begin, end = "<!-- made by: go test ./contrib/sandbox -run SecurityPage -update -->\n", "\n<!-- end of what is made -->"
	data, err := os.ReadFile(securityPage)
	require.NoError(t, err)
	head, rest, ok := strings.Cut(string(data), begin)
	require.True(t, ok)
	table, tail, ok := strings.Cut(rest, end)
	require.True(t, ok)
	want := strings.Join(lines, "\n")
	if *update {
		require.NoError(t, os.WriteFile(securityPage, []byte(head+begin+want+end+tail), 0o644))
		return
	}
	require.Equal(t, want, table, "go test ./contrib/sandbox -run SecurityPage -update")
}
