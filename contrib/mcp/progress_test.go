package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proctest"
)

// A client that has asked for progress gets each newest line while it waits. It
// gets no more lines than it can show, and none after the result.
func TestProgress(t *testing.T) {
	c, _, _ := serve(t)
	params := &mcp.CallToolParams{Name: "execute", Arguments: args{
		"command": `for i in 1 2 3; do echo "step $i"; sleep 0.4; done; echo waiting; exec sleep 1000`,
		"timeout": "2.5s",
	}}
	params.SetProgressToken("first")
	answer, err := c.CallTool(t.Context(), params)
	require.NoError(t, err)
	require.NoError(t, c.Ping(t.Context(), nil)) // all earlier notifications have arrived now
	res, _ := read(t, answer)
	require.Equal(t, "running", res.State)
	first := requireProgress(t, c.told(), "first")
	require.Subset(t, []string{"step 1", "step 2", "step 3", "waiting"}, first)
	require.Greater(t, len(first), 1)
	require.Equal(t, "waiting", first[len(first)-1])

	params = &mcp.CallToolParams{Name: "process_output", Arguments: args{"process_id": res.ID, "wait_timeout": "1s"}}
	params.SetProgressToken(int64(7))
	_, err = c.CallTool(t.Context(), params)
	require.NoError(t, err)
	require.NoError(t, c.Ping(t.Context(), nil))
	require.Equal(t, []string{"waiting"}, requireProgress(t, c.told()[len(first):], float64(7)))

	told := len(c.told())
	_, isError := c.call(t, "execute", args{"command": "echo no progress asked for; sleep 0.6"})
	require.False(t, isError)
	require.Len(t, c.told(), told)
}

// requireProgress checks the rules for all notifications, and returns their
// lines.
func requireProgress(t *testing.T, told []progress, token any) []string {
	t.Helper()
	var lines []string
	last := 0.0
	for _, p := range told {
		require.Equal(t, token, p.ProgressToken)
		require.Greater(t, p.Progress, last)
		last = p.Progress
		lines = append(lines, p.Message)
	}
	return lines
}

func TestWatch(t *testing.T) {
	t.Parallel()
	steps := func(n int, every time.Duration) func(*proctest.Command) int {
		return func(c *proctest.Command) int {
			for i := range n {
				c.Sleep(every)
				fmt.Fprintln(c, "step "+string(rune('a'+i)))
			}
			c.Sleep(every / 2)
			return 0
		}
	}
	for _, test := range []struct {
		name    string
		starts  time.Duration
		play    func(*proctest.Command) int
		stop    time.Duration
		want    []string
		seconds []float64
	}{
		{name: "ends at once", play: steps(20, time.Millisecond), stop: time.Hour},
		{name: "many lines", play: steps(20, 60*time.Millisecond), stop: time.Hour,
			want: []string{"step d", "step h", "step l", "step p"}, seconds: []float64{0.25, 0.5, 0.75, 1}},
		{name: "a line with what a terminal obeys", stop: time.Second,
			play: func(c *proctest.Command) int {
				fmt.Fprintln(c, "x\a[2K\x1b\u202eFORGED\u202eFORGED\u2028FORGED")
				c.Sleep(time.Hour)
				return 0
			},
			want: []string{"x[2KFORGEDFORGEDFORGED"}, seconds: []float64{0.25}},
		{name: "the call ends", play: steps(20, time.Second), stop: 2500 * time.Millisecond,
			want: []string{"step a", "step b"}, seconds: []float64{1, 2}},
		{name: "starts late", starts: time.Second, play: steps(2, time.Second), stop: time.Hour,
			want: []string{"step a", "step b"}, seconds: []float64{2, 3}},
		{name: "silent", play: steps(1, time.Hour), stop: 25 * time.Second,
			want: []string{"", ""}, seconds: []float64{10, 20}},
		{name: "silent after a line", stop: 15 * time.Second,
			play: func(c *proctest.Command) int {
				fmt.Fprint(c, "compiling\n\n")
				c.Sleep(time.Hour)
				return 0
			},
			want: []string{"compiling", "compiling"}, seconds: []float64{0.25, 10.25}},
		{name: "a line that is drawn again", stop: 7 * time.Second,
			play: func(c *proctest.Command) int {
				for i := range 20 {
					fmt.Fprintf(c, "at %c%%\r", 'a'+i)
					c.Sleep(3 * time.Second)
				}
				return 0
			},
			want: []string{"at a%", "at b%", "at c%"}, seconds: []float64{0.25, 3, 6}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				host := proctest.NewScript()
				defer func() { require.NoError(t, host.Close()) }()
				host.On("make", test.play)
				start := func() {
					_, err := host.Start(context.Background(), procmgr.StartRequest{ID: "id", Command: "make"})
					assert.NoError(t, err)
				}
				if test.starts == 0 {
					start()
				} else {
					time.AfterFunc(test.starts, start)
				}
				ctx, cancel := context.WithTimeout(t.Context(), test.stop)
				defer cancel()
				var lines []string
				var seconds []float64
				watch(ctx, host, "id", func(s float64, line string) {
					lines = append(lines, line)
					seconds = append(seconds, s)
				})
				require.Equal(t, test.want, lines)
				require.Len(t, seconds, len(test.seconds))
				for i, s := range seconds {
					require.LessOrEqual(t, math.Abs(s-test.seconds[i]), progressInterval.Seconds(), "%v", seconds)
				}
			})
		})
	}
}

// A process that begins to wait for input says so while a call waits for it.
func TestProgressQuestion(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only Linux can tell who waits for input")
	}
	local, _ := newLocal(t)
	m := local.Chat("a")
	out, err := m.Start(t.Context(), procmgr.StartRequest{Command: `sleep 1; echo "name?"; read -r x; exec sleep 600`, Stdin: procmgr.StdinPipe})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var told []string
	watch(ctx, m, out.Process.ID, func(_ float64, line string) {
		told = append(told, line)
		if strings.HasPrefix(line, "waits for input") {
			cancel()
		}
	})
	require.Equal(t, []string{"name?", "waits for input: name?"}, told)
}
