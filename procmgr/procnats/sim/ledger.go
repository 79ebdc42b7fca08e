package main

import (
	"encoding/json"
	"strconv"
	"strings"
	"sync"
)

// A ran is what has become of an ID.
type ran struct {
	Runs  int
	Ended bool
}

// A ledger has what the agents have said. It is the parent's, so it survives an
// agent.
type ledger struct {
	mu     sync.Mutex            // guards the fields below
	sent   map[processKey]string // the outcome of each start; "" while none is known
	agents map[processKey]string // which agent has sent it
	ends   map[processKey]int    // how often its end was read
	ticks  []tick
}

func newLedger() *ledger {
	return &ledger{sent: make(map[processKey]string), agents: make(map[processKey]string), ends: make(map[processKey]int)}
}

// hear takes a line of an agent.
func (l *ledger) hear(agent, word, rest string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	chat, more, _ := strings.Cut(rest, " ")
	id, more, _ := strings.Cut(more, " ")
	key := processKey{chat, id}
	switch word {
	case "S":
		l.sent[key], l.agents[key] = "", agent
	case "D":
		l.sent[key] = more
	case "E":
		if _, err := strconv.Atoi(more); err == nil {
			l.ends[key]++
		}
	case "T":
		var t tick
		if json.Unmarshal([]byte(rest), &t) == nil {
			l.ticks = append(l.ticks, t)
		}
	}
}

// pending returns the starts of an agent the outcome of which it has not told.
func (l *ledger) pending(agent string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var keys []string
	for key, outcome := range l.sent {
		if outcome == "" && l.agents[key] == agent {
			keys = append(keys, key.String())
		}
	}
	return keys
}

// counts are what the promise is about.
type counts struct {
	Chats       int            `json:"chats"`       // that were used
	Starts      int            `json:"starts"`      // IDs that were sent
	Outcomes    map[string]int `json:"outcomes"`    // what the agents learned of them
	Ran         int            `json:"ran"`         // of them
	Twice       int            `json:"twice"`       // that ran more than once
	Never       int            `json:"never"`       // that were acknowledged and never ran
	Ends        int            `json:"ends"`        // processes that ended
	Missed      int            `json:"missed"`      // of these the ends that no agent has read
	ReadAgain   int            `json:"read_again"`  // ends that were read once more
	Unaccounted int            `json:"unaccounted"` // commands that ran and that no agent has sent
}

// compare compares what the agents have said with what has happened.
func (l *ledger) compare(happened map[string]ran) counts {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := counts{Starts: len(l.sent), Outcomes: make(map[string]int)}
	chats := make(map[string]struct{})
	for key, outcome := range l.sent {
		chats[key.chat] = struct{}{}
		if outcome == "" {
			outcome = "not told"
		}
		c.Outcomes[outcome]++
		r := happened[key.String()]
		if outcome == "ok" && r.Runs == 0 && l.ends[key] == 0 { // one that was stopped at once has not noted that it ran
			c.Never++
		}
	}
	c.Chats = len(chats)
	for text, r := range happened {
		key := keyOf(text)
		c.Ran++
		if r.Runs > 1 {
			c.Twice++
		}
		if _, sent := l.sent[key]; !sent {
			c.Unaccounted++
		}
		if r.Ended {
			c.Ends++
			if l.ends[key] == 0 {
				c.Missed++
			}
		}
	}
	for _, n := range l.ends {
		c.ReadAgain += n - 1
	}
	return c
}

// failed reports whether a promise was broken.
func (c counts) failed() bool {
	return c.Twice > 0 || c.Missed > 0 || c.Never > 0 || c.Unaccounted > 0
}
