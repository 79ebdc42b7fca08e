package main

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/toolproc/toolproc/procmgr"
)

// tickTime is how often an agent tells what it has counted.
const tickTime = 250 * time.Millisecond

// A tick is what an agent has counted since the tick before.
type tick struct {
	At      time.Time
	Calls   int            // that were answered
	Failed  map[string]int `json:",omitempty"`
	Skipped int            // that were not made, because too many were
	Times   histogram      // of the calls that do not wait, from when they were due
	Slowest time.Duration
	Ends    int
	EndTime time.Duration // the longest from an end to its agent
}

// A histogram counts durations: entry i those below 100 µs × 1.25^i.
type histogram map[int]int

func (h histogram) add(d time.Duration) {
	h[max(0, int(math.Ceil(math.Log(float64(d)/float64(100*time.Microsecond))/math.Log(1.25))))]++
}

// merge adds another histogram.
func (h histogram) merge(other histogram) {
	for i, n := range other {
		h[i] += n
	}
}

// quantile returns a duration that so large a part of all does not exceed.
func (h histogram) quantile(q float64) time.Duration {
	total, last := 0, 0
	for i, n := range h {
		total += n
		last = max(last, i)
	}
	seen := 0
	for i := range last + 1 {
		if seen += h[i]; total > 0 && float64(seen) >= q*float64(total) {
			return time.Duration(float64(100*time.Microsecond) * math.Pow(1.25, float64(i)))
		}
	}
	return 0
}

// A meter counts the calls of an agent.
type meter struct {
	mu  sync.Mutex // guards the field below
	now tick
}

// called counts a call. due is when it should have begun; zero: its time does not
// count.
func (m *meter) called(due time.Time, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		if m.now.Failed == nil {
			m.now.Failed = make(map[string]int)
		}
		m.now.Failed[kindOf(err)]++
	} else {
		m.now.Calls++
	}
	if due.IsZero() {
		return
	}
	d := time.Since(due)
	if m.now.Times == nil {
		m.now.Times = make(histogram)
	}
	m.now.Times.add(d)
	m.now.Slowest = max(m.now.Slowest, d)
}

func (m *meter) skipped() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Skipped++
}

func (m *meter) ended(delay time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now.Ends++
	m.now.EndTime = max(m.now.EndTime, delay)
}

// tell tells the parent what was counted, until ctx ends.
func (m *meter) tell(ctx context.Context, p *parent) {
	ticker := time.NewTicker(tickTime)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ticker.C:
		case <-ctx.Done():
		}
		m.mu.Lock()
		now := m.now
		m.now = tick{}
		m.mu.Unlock()
		now.At = time.Now()
		p.say("T", now)
	}
}

// kindOf names the kind of an error.
func kindOf(err error) string {
	for name, sentinel := range map[string]error{
		"unknown": procmgr.ErrUnknown, "not found": procmgr.ErrNotFound, "conflict": procmgr.ErrConflict,
		"invalid": procmgr.ErrInvalid, "limit": procmgr.ErrLimit, "refused": procmgr.ErrRefused, "closed": procmgr.ErrClosed,
	} {
		if errors.Is(err, sentinel) {
			return name
		}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return "no answer in time"
	}
	text := err.Error()
	return text[strings.LastIndex(text, ": ")+1:] // the cause alone, without names
}
