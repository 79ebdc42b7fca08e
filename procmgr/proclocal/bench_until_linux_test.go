package proclocal_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/internal/beside"
	"github.com/toolproc/toolproc/procmgr"
)

// waitedFor are patterns as models write them for dev servers, tests and builds.
var waitedFor = []string{
	"READY",
	`(?i)listening on .*:\d+`,
	"error|warn|ready",
	`(?i)error|fail`,
	`ready in \d+ ?ms`,
	`Local:\s+https?://`,
	`https?://(localhost|127\.0\.0\.1):\d+`,
	`(?i)server (is )?(running|started|listening)`,
	`Compiled (successfully|with warnings)|Failed to compile`,
	`webpack .* compiled`,
	`Application startup complete`,
	`Tests?:\s+\d+ (passed|failed)`,
	`\d+ (passed|failed)`,
	`^(ok|FAIL|---)\s`,
	`^=+ .* in [\d.]+s`,
	`✓|✗|✘`,
	`BUILD (SUCCESS|FAILURE)(FUL)?`,
	`Finished .*target\(s\) in`,
	`test result: (ok|FAILED)`,
	`npm ERR!|Error:|Traceback`,
	`(?m)^(FAIL|ok)\s+\S+`,
	`https?://localhost:\d+`,
}

// A child prints what a build prints, and a caller waits for a line that never
// comes. Each pattern has its turns, and between them has a capture without a
// caller its own. The turns of a pattern are spread over the whole run, and its
// figure is the middle one of their ratios to the captures before and after
// them. x-least is the slowest pattern, x-ten has ten callers with a pattern
// each, and x-near a log whose lines all almost match.
func BenchmarkCaptureUntil(b *testing.B) {
	blocks, turnsEach := 128<<20/block, 9
	if testing.Short() {
		blocks, turnsEach = blocks/8, 1
	}
	l := newLocal(b, nil)
	build, near := role(b, "build", blocks, ""), role(b, "near", blocks, "")
	turns := make([]untilTurn, 0, len(waitedFor)+3)
	for _, pattern := range waitedFor {
		turns = append(turns, untilTurn{child: build, patterns: []string{pattern}})
	}
	turns = append(turns, untilTurn{child: build, patterns: waitedFor[:10]}, untilTurn{child: build, patterns: waitedFor[10:]},
		untilTurn{child: near, patterns: []string{`(?i)\b(error|failed)\b`}})
	var speeds []float64
	for b.Loop() {
		for range turnsEach {
			for i := range turns {
				turn := &turns[i]
				before := captureUntil(b, l, turn.child, blocks, nil)
				with := captureUntil(b, l, turn.child, blocks, turn.patterns)
				after := captureUntil(b, l, turn.child, blocks, nil)
				turn.ratios = append(turn.ratios, with/((before+after)/2))
				speeds = append(speeds, before, after)
			}
		}
	}
	var found []float64
	for _, turn := range turns {
		found = append(found, beside.Median(turn.ratios))
		b.Logf("%.2f x of %.2f GB/s: %s", beside.Median(turn.ratios), beside.Median(speeds), strings.Join(turn.patterns, "   "))
	}
	ones, others := found[:len(waitedFor)], found[len(waitedFor):]
	b.ReportMetric(slices.Min(ones), "x-least")
	b.ReportMetric(beside.Median(ones), "x-median")
	b.ReportMetric(min(others[0], others[1]), "x-ten")
	b.ReportMetric(others[2], "x-near")
	b.ReportMetric(0, "ns/op")
}

// An untilTurn is a child whose output is captured while callers wait for
// patterns, one each.
type untilTurn struct {
	child    map[string]string
	patterns []string
	ratios   []float64
}

// captureUntil returns in GB/s how fast the output of a child is captured while
// callers wait for patterns. If a caller has come late, and so has searched less
// than all of it, the capture is made again.
func captureUntil(b *testing.B, m procmgr.Manager, child map[string]string, blocks int, patterns []string) (found float64) {
	for late := true; late; {
		late = false
		found = rate(blocks, func() {
			started, err := m.Start(context.Background(), procmgr.StartRequest{Command: roleCommand, Env: child})
			require.NoError(b, err)
			var callers sync.WaitGroup
			var missed atomic.Bool
			for _, pattern := range append(slices.Clone(patterns), "") {
				callers.Go(func() {
					req := procmgr.OutputRequest{Until: pattern, Wait: long}
					out, err := m.Output(context.Background(), started.Process.ID, req)
					assert.NoError(b, err)
					assert.Equal(b, procmgr.Exited, out.Process.State)
					assert.False(b, out.Matched, out.MatchedLine)
					assert.GreaterOrEqual(b, out.Next, int64(blocks)*block)
					if out.Unsearched > 1<<20 {
						missed.Store(true)
					}
				})
			}
			callers.Wait()
			late = missed.Load()
		})
	}
	return found
}

// buildOutput returns a block of what a build prints. Some lines have short
// strings of the patterns, inside of words.
func buildOutput() []byte {
	var text []byte
	for i := 0; len(text) < block; i++ {
		text = fmt.Appendf(text, "[%3d%%] Building CXX object src/core/CMakeFiles/core.dir/buffer_%d.cc.o\n", i%100, i)
		switch i % 8 {
		case 3:
			text = fmt.Appendf(text, "transforming (%d) src/hooks/useWebhook took %d ms\n", i, i%90)
		case 5:
			text = fmt.Appendf(text, "npm http fetch GET 200 https://packages.test/tok-book %dms (cache hit)\n", i%90)
		case 7:
			text = fmt.Appendf(text, "g++ -O2 -Wall -Iinclude -c src/net/socket_%d.cc -o build/net/socket_%d.o\n", i, i)
		}
	}
	return whole(text)
}

// nearOutput returns a block of a log that has "errors" in each line.
func nearOutput() []byte {
	var text []byte
	for i := 0; len(text) < block; i++ {
		text = fmt.Appendf(text, "2026-11-21T12:%02d:%02dZ INFO request GET /api/users/%d HTTP/1.1 200 %dms errors=0\n", i/60%60, i%60, i, i%17)
	}
	return whole(text)
}

// whole makes a block of a text, with a whole line at its end.
func whole(text []byte) []byte {
	text = text[:block]
	text[block-1] = '\n'
	return text
}
