package procmgr_test

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
}

// A child prints what a build prints, and a caller waits for a line that never
// comes. Each pattern has its turns, and between them has a capture without a
// caller its own. The turns of a pattern are spread over the whole run, and its
// figure is the middle one of their ratios to the captures before and after
// them. x-least is the slowest pattern, and x-ten has ten callers with a pattern
// each.
func BenchmarkCaptureUntil(b *testing.B) {
	blocks := 128 << 20 / block
	if testing.Short() {
		blocks /= 8
	}
	l := newLocal(b, nil)
	child := role(b, "build", blocks, "")
	var turns [][]string // the patterns of each
	for _, pattern := range waitedFor {
		turns = append(turns, []string{pattern})
	}
	turns = append(turns, waitedFor[:10], waitedFor[10:])
	ratios := make([][]float64, len(turns))
	var all []float64
	alone := captureUntil(b, l, child, blocks, nil)
	for b.Loop() {
		for range 9 {
			for i, patterns := range turns {
				with := captureUntil(b, l, child, blocks, patterns)
				after := captureUntil(b, l, child, blocks, nil)
				ratios[i] = append(ratios[i], with/((alone+after)/2))
				alone = after
				all = append(all, alone)
			}
		}
	}
	var found []float64
	for i, patterns := range turns {
		found = append(found, median(ratios[i]))
		b.Logf("%.2f x of %.2f GB/s: %s", found[i], median(all), strings.Join(patterns, "   "))
	}
	b.ReportMetric(slices.Min(found[:len(waitedFor)]), "x-least")
	b.ReportMetric(median(found[:len(waitedFor)]), "x-median")
	b.ReportMetric(slices.Min(found[len(waitedFor):]), "x-ten")
	b.ReportMetric(0, "ns/op")
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

// buildOutput returns a block of what a build prints.
func buildOutput() []byte {
	var text []byte
	for i := 0; len(text) < block; i++ {
		text = fmt.Appendf(text, "[%3d%%] Building CXX object src/core/CMakeFiles/core.dir/buffer_%d.cc.o\n", i%100, i)
		if i%7 == 0 {
			text = fmt.Appendf(text, "g++ -O2 -Wall -Iinclude -c src/net/socket_%d.cc -o build/net/socket_%d.o\n", i, i)
		}
	}
	text = text[:block]
	text[block-1] = '\n'
	return text
}
