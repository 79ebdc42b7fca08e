//go:build linux || darwin || freebsd

package toolset_test

import (
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// These have the output of real tools; their record.sh says how it came about.
// What results look like was tuned by the corpus, and is judged by heldout too.
const (
	corpusDir  = "testdata/corpus"
	heldoutDir = "testdata/heldout"
)

// A recording is what a tool printed, and what a person looks for in it.
type recording struct {
	dir      string
	name     string
	raw      []byte
	exitCode int
	wanted   []wanted
}

// A wanted line is known by a text or by a regular expression.
type wanted struct {
	text string // as it stands in the file
	re   *regexp.Regexp
}

// A sight is what somebody gets to see, and how many of the wanted lines it has.
type sight struct {
	seen   int
	text   string // its tokens are counted
	output string // that a result has
}

// A measurement is what becomes of a recording on its way to a model.
type measurement struct {
	recording
	sized []sized
}

// sized is what a model sees in a limit of bytes: in head and tail of the raw
// bytes, and in a result of either format.
type sized struct {
	headTail, json, text sight
}

// sizes are the limits that the page compares, including the default limit of
// a result.
var sizes = []int{8 << 10, defaultSize, 20 << 10, 32 << 10}

const defaultSize = 16000

// TestCorpus replays recordings through a process manager and the tools. It
// fails if a wanted line is neither in the result nor in the log.
func TestCorpus(t *testing.T) {
	player := newPlayer(t)
	var all, heldout []measurement
	for _, half := range []struct {
		dir string
		all *[]measurement
	}{{corpusDir, &all}, {heldoutDir, &heldout}} {
		for _, name := range recordings(t, half.dir) {
			t.Run(name, func(t *testing.T) {
				*half.all = append(*half.all, player.measure(t, load(t, half.dir, name)))
			})
		}
	}
	if !t.Failed() && len(all) == len(recordings(t, corpusDir)) && len(heldout) == len(recordings(t, heldoutDir)) {
		t.Run("targets", func(t *testing.T) { checkTargets(t, all, heldout) })
		t.Run("page", func(t *testing.T) { checkPage(t, all, heldout) })
	}
}

// recordings returns the names of all recordings in a directory.
func recordings(t testing.TB, dir string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, "*.raw.gz"))
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for i, name := range names {
		names[i] = strings.TrimSuffix(filepath.Base(name), ".raw.gz")
	}
	return names
}

// load reads a recording and what is wanted of it.
func load(t testing.TB, dir, name string) recording {
	t.Helper()
	raw, err := unpack(dir, name)
	require.NoError(t, err)
	r := recording{dir: dir, name: name, raw: raw}
	want, err := os.ReadFile(filepath.Join(dir, name+".want"))
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSuffix(string(want), "\n"), "\n")
	require.GreaterOrEqual(t, len(lines), 2)
	_, err = fmt.Sscanf(lines[0], "exit %d", &r.exitCode)
	require.NoError(t, err, lines[0])
	require.True(t, strings.HasPrefix(lines[1], "$ "), "the second line is the command, for a reader: %s", lines[1])
	for _, line := range lines[2:] {
		expr := regexp.QuoteMeta(line)
		if n := len(line); n > 2 && line[0] == '/' && line[n-1] == '/' {
			expr = line[1 : n-1]
		}
		re, err := regexp.Compile("(?m)" + expr)
		require.NoError(t, err)
		r.wanted = append(r.wanted, wanted{text: line, re: re})
	}
	return r
}

func unpack(dir, name string) ([]byte, error) {
	file, err := os.Open(filepath.Join(dir, name+".raw.gz"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	z, err := gzip.NewReader(file)
	if err != nil {
		return nil, err
	}
	return io.ReadAll(z)
}

// seen counts the wanted lines in a text.
func (r recording) seen(text string) (n int) {
	for _, w := range r.wanted {
		if w.re.MatchString(text) {
			n++
		}
	}
	return n
}

// A player is the tools on a process manager that keeps logs.
type player struct {
	set    *toolset.Set // of results in JSON
	text   *toolset.Set
	id     *string // of the next process
	steady *steady
}

// steady is a manager whose results have the same facts in each run, so that
// the same room is left for the output.
type steady struct {
	procmgr.Manager
	dir, path string // that stand for each directory and log; path may have %s for the ID
	log       string // the path of the last log that a result had
}

func (s *steady) Start(ctx context.Context, req procmgr.StartRequest) (procmgr.Output, error) {
	out, err := s.Manager.Start(ctx, req)
	return s.fix(out), err
}

func (s *steady) Output(ctx context.Context, id string, req procmgr.OutputRequest) (procmgr.Output, error) {
	out, err := s.Manager.Output(ctx, id, req)
	// The search for highlights has a bounded time, which on a busy machine may be
	// over before it has begun.
	uncounted := func(h procmgr.Highlight) bool { return h.Line == 0 }
	for tries, same := 0, req.Highlight <= 0; err == nil && !same && tries < 20; tries++ {
		before := out.Highlights
		out, err = s.Manager.Output(ctx, id, req)
		same = slices.Equal(before, out.Highlights) && !slices.ContainsFunc(before, uncounted)
	}
	return s.fix(out), err
}

func (s *steady) fix(out procmgr.Output) procmgr.Output {
	p := &out.Process
	s.log, p.WorkDir = p.LogPath, s.dir
	if p.LogPath != "" {
		p.LogPath = strings.ReplaceAll(s.path, "%s", p.ID)
	}
	if p.State == procmgr.Exited {
		p.StartedAt, p.ExitedAt, p.Elapsed = began, began.Add(12300*time.Millisecond), 12300*time.Millisecond
	}
	return out
}

func newPlayer(t testing.TB) player {
	t.Helper()
	here, err := os.Getwd()
	require.NoError(t, err)
	opts := &proclocal.Options{LogDir: t.TempDir(), WorkDir: here}
	opts.Env.Allow = []string{"*"} // no note on what the tests' own environment has
	manager := newHost(t, opts)
	s := &steady{Manager: manager.Chat("chat"), path: "/var/lib/agent/19-5aymafeemy.log"}
	id := new(string)
	next := func(context.Context, toolset.Call) string { return *id }
	return player{
		set:    newSet(toolset.Static(s), &toolset.Options{ProcessID: next}),
		text:   newSet(toolset.Static(s), &toolset.Options{Format: toolset.FormatText}),
		id:     id,
		steady: s,
	}
}

// measure replays a recording.
func (p player) measure(t *testing.T, r recording) measurement {
	m := measurement{recording: r}
	// The same ID in each run, so that the same room is left for the output.
	*p.id = "id" + hashOf(r.dir + r.name)[:8]
	res := p.set.Call(t.Context(), toolset.Call{Name: "execute", Arguments: []byte(arguments(t, "command", fmt.Sprintf("gzip -dc %s/%s.raw.gz; exit %d", r.dir, r.name, r.exitCode), "timeout", "60s"))})
	require.False(t, res.IsError, res.Content)
	require.Equal(t, r.exitCode, *res.Report.ExitCode)
	logPath := p.steady.log
	for _, size := range sizes {
		m.sized = append(m.sized, sized{
			headTail: r.headTail(size),
			json:     p.read(t, r, p.set, res.Output.Process.ID, size),
			text:     p.read(t, r, p.text, res.Output.Process.ID, size),
		})
	}

	log, err := os.ReadFile(logPath)
	require.NoError(t, err)
	require.EqualValues(t, len(log), res.Output.Next, "offsets are the log's")
	usual := m.sized[slices.Index(sizes, defaultSize)].json
	for _, w := range r.wanted {
		if w.re.MatchString(unnumbered(usual.output)) {
			continue
		}
		if !w.re.Match(log) {
			t.Errorf("neither in the result nor in the log: %s", w.text)
		}
		if !strings.Contains(usual.text, `"log_path":`) {
			t.Errorf("in the log, and the result does not tell of that: %s", w.text)
		}
	}
	return m
}

// read reads the output of a process, in a limit of bytes.
func (p player) read(t *testing.T, r recording, set *toolset.Set, id string, size int) sight {
	t.Helper()
	res := set.Call(t.Context(), toolset.Call{Name: "process_output",
		Arguments: []byte(fmt.Sprintf(`{"process_id":%q,"wait_timeout":"0s","max_output":%d}`, id, size/2))})
	require.False(t, res.IsError, res.Content)
	require.LessOrEqual(t, len(res.Content), size)
	return sight{seen: r.seen(unnumbered(*res.Report.Output)), text: res.Content, output: *res.Report.Output}
}

// headTail returns what head and tail of the raw bytes show.
func (r recording) headTail(size int) sight {
	head := headtail.New(headtail.DefaultHead, headtail.DefaultTail)
	_, _ = head.Write(r.raw) // never fails
	text, _ := head.Snapshot(0).Text(headtail.Limits{Bytes: size})
	// A reader of that text sees no colors, and takes each redraw of a line
	// for a line of its own.
	return sight{seen: r.seen(strings.ReplaceAll(colors.ReplaceAllString(text, ""), "\r", "\n")), text: text}
}

// unnumbered returns an output without what a result adds to highlights.
func unnumbered(output string) string {
	return moreLikeIt.ReplaceAllString(lineNumber.ReplaceAllString(output, ""), "")
}

var moreLikeIt = regexp.MustCompile(`(?m) \.\.\. \[\d+ more like it\]$`)

var lineNumber = regexp.MustCompile(`(?m)^([0-9]+: ?){1,2}`)

// colors are the sequences that a terminal does not show.
var colors = regexp.MustCompile(`\x1b(\[[0-?]*[ -/]*[@-~]|[@-Z\\^_])`)
