package procmgr_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
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
// comes. Each pattern has its turns beside a capture without a caller. x-least
// is the slowest pattern, and x-ten has ten callers with a pattern each.
func BenchmarkCaptureUntil(b *testing.B) {
	const turns = 5
	blocks := 128 << 20 / block
	if testing.Short() {
		blocks /= 8
	}
	l := newLocal(b, nil)
	child := role(b, "build", blocks, "")
	var ratios, ten []float64
	turn := func(patterns ...string) float64 {
		var with, alone []float64
		for range turns {
			with = append(with, rate(blocks, func() { captureUntil(b, l, child, blocks, patterns...) }))
			alone = append(alone, rate(blocks, func() { captureUntil(b, l, child, blocks) }))
		}
		ratio := median(with) / median(alone)
		b.Logf("%.2f x of %.2f GB/s: %s", ratio, median(alone), strings.Join(patterns, "   "))
		return ratio
	}
	for b.Loop() {
		for _, pattern := range waitedFor {
			ratios = append(ratios, turn(pattern))
		}
		ten = append(ten, turn(waitedFor[:10]...), turn(waitedFor[10:]...))
	}
	b.ReportMetric(slices.Min(ratios), "x-least")
	b.ReportMetric(median(ratios), "x-median")
	b.ReportMetric(median(ten), "x-ten")
	b.ReportMetric(0, "ns/op")
}

// captureUntil is capture with callers that wait for patterns.
func captureUntil(b *testing.B, m procmgr.Manager, child map[string]string, blocks int, patterns ...string) {
	started, err := m.Start(context.Background(), procmgr.StartRequest{Command: roleCommand, Env: child})
	require.NoError(b, err)
	var callers sync.WaitGroup
	for _, pattern := range append(patterns, "") {
		callers.Go(func() {
			req := procmgr.OutputRequest{Until: pattern, Wait: long}
			out, err := m.Output(context.Background(), started.Process.ID, req)
			assert.NoError(b, err)
			assert.Equal(b, procmgr.Exited, out.Process.State)
			assert.False(b, out.Matched, out.MatchedLine)
			assert.LessOrEqual(b, out.Unsearched, int64(1<<20)) // what came before the caller
			assert.GreaterOrEqual(b, out.Next, int64(blocks)*block)
		})
	}
	callers.Wait()
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
