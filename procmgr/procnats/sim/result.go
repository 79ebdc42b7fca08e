package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// slow is how long a call that does not wait, or the way of an end, may take
// before it counts as a trouble.
const slow = time.Second

// A result is what the simulation has measured. Times are seconds from the first
// call on, where they say no other.
type result struct {
	Options  options        `json:"options"`
	Go       string         `json:"go"`
	CPUs     int            `json:"cpus"`
	Load     []float64      `json:"load"`    // the machine's average, at the ends of the quiet part and at the last call
	Placing  float64        `json:"placing"` // how long it took to place all chats, which none of the other times has
	Counts   counts         `json:"counts"`
	Quiet    quiet          `json:"quiet"`
	Memory   memory         `json:"memory"`
	Recovery recovery       `json:"recovery"`
	Calls    int            `json:"calls"` // answered
	Failed   map[string]int `json:"failed"`
	Skipped  int            `json:"skipped"` // not made, because an agent had too many
	Stopped  float64        `json:"stopped"` // when the last call was over
	Faults   []fault        `json:"faults"`
	Points   []point        `json:"points"`
}

// quiet is what calls cost while nothing goes wrong. What is told for each call
// has the ends in it.
type quiet struct {
	From, To float64
	Rate     float64 `json:"rate"` // calls in a second
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
	Calls    int     `json:"calls"`
	// Sent is how many messages agents and machines sent for each call, ByAgents
	// of them the agents, and Moved how many the servers took in and gave out,
	// between them too.
	Sent     float64 `json:"sent"`
	ByAgents float64 `json:"sent_by_agents"`
	Moved    float64 `json:"moved"`
	Bytes    float64 `json:"bytes"` // that agents and machines sent
	Servers  float64 `json:"cpu_servers_us"`
	Machines float64 `json:"cpu_machines_us"`
	Agents   float64 `json:"cpu_agents_us"`

	sent, byAgents, moved, bytes, servers, machines, agents float64 // of all calls
	from, to                                                time.Time
}

// memory is in bytes.
type memory struct {
	Machine  int64   `json:"machine"`  // of one idle machine
	Machines int64   `json:"machines"` // of all, after the last call
	Servers  []int64 `json:"servers"`
	Agents   []int64 `json:"agents"`
}

// recovery is how long troubles last, in seconds.
type recovery struct {
	// Calls is from the server's death to the last call that failed or was slow,
	// and Ends to the last end that was slow; -1 if some were slow before. Slowest
	// is the slowest call in that time.
	Calls   float64 `json:"server_calls"`
	Ends    float64 `json:"server_ends"`
	Slowest float64 `json:"server_slowest_call"`
	Machine float64 `json:"machine"`     // from the machine's return to its first answer
	Agent   float64 `json:"agent"`       // from the start of the new agent to its first call
	Pending int     `json:"pending"`     // the starts whose answers it did not know
	Cut     float64 `json:"longest_end"` // the longest way of an end: one of the machine that was cut off, or for the agent that was away
}

// A fault is what goes wrong, or is right again.
type fault struct {
	At   float64 `json:"at"`
	What string  `json:"what"`
}

// A point is a second of the run.
type point struct {
	At      float64 `json:"at"`
	Calls   int     `json:"calls"`
	Failed  int     `json:"failed"`
	P50     float64 `json:"p50_ms"`
	P99     float64 `json:"p99_ms"`
	Slowest float64 `json:"slowest_ms"`
	Ends    int     `json:"ends"`
	EndTime float64 `json:"end_ms"` // the longest from an end to its agent
}

// A sample is what all processes have used so far.
type sample struct {
	at       time.Time
	servers  []serverTraffic
	machines fleetTraffic
	agents   []fleetTraffic
	load     float64
}

// quiet notes what was used between two samples. What is told for each call
// waits for the number of calls.
func (r *result) quiet(a, b sample) {
	q := &r.Quiet
	q.from, q.to = a.at, b.at
	add := func(x, y fleetTraffic) {
		q.sent += float64(y.OutMsgs - x.OutMsgs)
		q.bytes += float64(y.OutBytes - x.OutBytes)
	}
	add(a.machines, b.machines)
	q.machines = b.machines.Usage.CPU - a.machines.Usage.CPU
	for i := range a.agents {
		add(a.agents[i], b.agents[i])
		q.byAgents += float64(b.agents[i].OutMsgs - a.agents[i].OutMsgs)
		q.agents += b.agents[i].Usage.CPU - a.agents[i].Usage.CPU
	}
	for i := range a.servers {
		x, y := a.servers[i], b.servers[i]
		q.moved += float64(y.InMsgs - x.InMsgs + y.OutMsgs - x.OutMsgs)
		q.servers += y.Usage.CPU - x.Usage.CPU
	}
	r.Load = append(r.Load, a.load, b.load)
}

// end notes what is used at the end.
func (r *result) end(last sample) {
	r.Load = append(r.Load, last.load)
	r.Memory.Machines = last.machines.Usage.RSS
	for _, t := range last.agents {
		r.Memory.Agents = append(r.Memory.Agents, t.Usage.RSS)
	}
	for _, t := range last.servers {
		r.Memory.Servers = append(r.Memory.Servers, t.Usage.RSS)
	}
}

// points puts the ticks of all agents together.
func (r *result) points(began time.Time, ticks []tick) {
	q := &r.Quiet
	q.From, q.To = q.from.Sub(began).Seconds(), q.to.Sub(began).Seconds()
	r.Failed = make(map[string]int)
	seconds := make(map[int]*point)
	times := make(map[int]histogram)
	quietTimes := make(histogram)
	var calm, calmEnds time.Duration
	for _, t := range ticks {
		at := t.At.Add(-tickTime / 2)
		r.Calls += t.Calls
		r.Skipped += t.Skipped
		r.Recovery.Cut = max(r.Recovery.Cut, t.EndTime.Seconds())
		failed := 0
		for kind, n := range t.Failed {
			r.Failed[kind] += n
			failed += n
		}
		if at.After(q.from) && at.Before(q.to) {
			q.Calls += t.Calls
			quietTimes.merge(t.Times)
			calm, calmEnds = max(calm, t.Slowest), max(calmEnds, t.EndTime)
		}
		n := int(at.Sub(began).Seconds())
		if n < 0 {
			continue
		}
		p := seconds[n]
		if p == nil {
			p = &point{At: float64(n)}
			seconds[n], times[n] = p, make(histogram)
		}
		p.Calls += t.Calls
		p.Failed += failed
		p.Ends += t.Ends
		p.Slowest = max(p.Slowest, milliseconds(t.Slowest))
		p.EndTime = max(p.EndTime, milliseconds(t.EndTime))
		times[n].merge(t.Times)
	}
	for _, n := range slices.Sorted(maps.Keys(seconds)) {
		p := seconds[n]
		p.P50, p.P99 = milliseconds(times[n].quantile(0.5)), milliseconds(times[n].quantile(0.99))
		r.Points = append(r.Points, *p)
	}
	q.P50, q.P99 = milliseconds(quietTimes.quantile(0.5)), milliseconds(quietTimes.quantile(0.99))
	q.Rate = float64(q.Calls) / (q.To - q.From)
	calls := float64(max(q.Calls, 1))
	q.Sent, q.ByAgents, q.Moved, q.Bytes = q.sent/calls, q.byAgents/calls, q.moved/calls, q.bytes/calls
	q.Servers, q.Machines, q.Agents = q.servers/calls*1e6, q.machines/calls*1e6, q.agents/calls*1e6
	r.recover(began, ticks)
	if calm > slow {
		r.Recovery.Calls = -1
	}
	if calmEnds > slow {
		r.Recovery.Ends = -1
	}
}

// recover finds how long the death of the server was felt, until the next thing
// goes wrong.
func (r *result) recover(began time.Time, ticks []tick) {
	var died, next time.Time
	for _, f := range r.Faults {
		at := began.Add(time.Duration(f.At * float64(time.Second)))
		switch f.What {
		case "a server is killed":
			died = at
		case "a machine is cut off":
			next = at
		}
	}
	for _, t := range ticks {
		if !t.At.After(died) || !t.At.Before(next) {
			continue
		}
		felt := t.At.Sub(died).Seconds()
		r.Recovery.Slowest = max(r.Recovery.Slowest, t.Slowest.Seconds())
		if len(t.Failed) > 0 || t.Slowest > slow {
			r.Recovery.Calls = max(r.Recovery.Calls, felt)
		}
		if t.EndTime > slow {
			r.Recovery.Ends = max(r.Recovery.Ends, felt)
		}
	}
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// table is the result for a person, in Markdown.
func (r *result) table() string {
	var b strings.Builder
	row := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "| %s | %s |\n", what, fmt.Sprintf(format, args...))
	}
	c, q, m, y := r.Counts, r.Quiet, r.Memory, r.Recovery
	b.WriteString("| | |\n|---|---|\n")
	row("machines, chats, agents", "%d (%d real), %d, %d", r.Options.Machines, r.Options.Real, r.Options.Chats, r.Options.Agents)
	row("time, calls a second wanted", "%v, %.0f", r.Options.Time, r.Options.Rate)
	row("all chats are placed after", "%.1f s", r.Placing)
	row("calls that were answered, that failed, that were not made", "%d, %d, %d", r.Calls, sum(r.Failed), r.Skipped)
	row("starts that were sent, that ran, that ran twice", "%d, %d, **%d**", c.Starts, c.Ran, c.Twice)
	row("starts that were acknowledged and never ran", "**%d**", c.Never)
	row("ends, that were missed, that came once more", "%d, **%d**, %d", c.Ends, c.Missed, c.ReadAgain)
	row("while nothing goes wrong: calls a second", "%.0f", q.Rate)
	row("a call without a wait, half of them and 99 %", "%.1f ms, %.1f ms", q.P50, q.P99)
	row("messages for each call that agents send, that machines send", "%.1f, %.1f, %.0f bytes in all", q.ByAgents, q.Sent-q.ByAgents, q.Bytes)
	row("messages that the servers take and give for each call", "%.1f", q.Moved)
	row("CPU for each call: servers, machines, agents", "%.0f µs, %.0f µs, %.0f µs", q.Servers, q.Machines, q.Agents)
	row("memory of an idle machine", "%d KiB", m.Machine>>10)
	row("memory at the end: each server, all machines, each agent", "%s, %d MiB, %s", mebibytes(m.Servers), m.Machines>>20, mebibytes(m.Agents))
	if r.Options.Faults {
		row("a server dies: until no call fails or takes over 1 s", "%s, the slowest took %.1f s", felt(y.Calls), y.Slowest)
		row("until no end is on its way for over 1 s", "%s", felt(y.Ends))
		row("a machine is back: until it answers", "%.2f s", y.Machine)
		row("an agent is started anew: until it calls", "%.2f s, with %d starts to ask for again", y.Agent, y.Pending)
		row("the longest way of an end", "%.1f s", y.Cut)
	}
	row("processors, load of the machine before, meanwhile, after", "%d, %.1f", r.CPUs, r.Load)
	for _, kind := range slices.Sorted(maps.Keys(r.Failed)) {
		row("failed: "+kind, "%d", r.Failed[kind])
	}
	return b.String()
}

// felt says how long something was felt.
func felt(seconds float64) string {
	switch {
	case seconds < 0:
		return "not known, since some did before it died"
	case seconds == 0:
		return "at once"
	}
	return fmt.Sprintf("%.1f s", seconds)
}

func sum(all map[string]int) (n int) {
	for _, one := range all {
		n += one
	}
	return n
}

func mebibytes(all []int64) string {
	var texts []string
	for _, n := range all {
		texts = append(texts, fmt.Sprintf("%d MiB", n>>20))
	}
	return strings.Join(texts, " and ")
}
