package toolset_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/internal/testenv"
	"github.com/toolproc/toolproc/procmgr"
)

// In a simulation, hosts and models do what they like with one chat: commands
// start and end, outputs are read, results are dropped, notices are read and
// acknowledged, and programs crash. The oracle then knows which ends a model has
// to be told of, and which it must not be told of.
type simulation struct {
	*rand.Rand
	world  *world
	chat   string
	view   func() *view
	sets   []*host // two programs
	fates  map[string]*destiny
	gaps   bool // events get lost
	drops  bool // records get lost
	steps  int
	crash  bool
	mode   bool
	broken error
}

// A host is a program with a Set. It may crash, and begin anew with the cursor
// that it has saved.
type host struct {
	set     *toolset.Set
	box     *toolset.Inbox
	cursor  string
	took    bool            // it goes on with the cursor of a Set that has crashed
	pending toolset.Notices // sent, and not acknowledged
	acked   toolset.Notices // the last that were acknowledged
}

// A destiny is what the oracle knows about a process.
type destiny struct {
	life  *life
	owner *host // the program that has left it running, or nil
	// starter is the program that has started it.
	starter *host
	// known says that the saved cursor has it.
	known bool
	// told counts the messages about its end that the owner has taken for
	// delivered. shown says that a result of the owner has shown the end, and
	// seen that one has before a crash.
	told        int
	shown, seen bool
	// shownBefore says that the end was shown before the cursor was saved.
	shownBefore bool
	matched     bool
	matchesTold int
	// acked says that it was told before the cursor was saved. If it was not,
	// a crash allows to tell it once more.
	acked bool
	// The same for a match of notify_on.
	matchAcked, matchSeen bool
	// lost says that no Set can know that it has to be told.
	lost bool
}

func (s *simulation) fail(format string, args ...any) {
	if s.broken == nil {
		s.broken = fmt.Errorf(format, args...)
	}
}

// tell enters a message about a process, which h has got.
func (s *simulation) tell(h *host, id string, ended, matched bool) {
	d := s.fates[id]
	switch {
	case d == nil:
		s.fail("%s is of another chat, or of the host", id)
	case d.owner == nil && d.life.Background && h.took && (d.starter != h || !d.shown):
		return // so it does of a background process whose start has shown its end since
	case d.owner == nil:
		s.fail("%s is a foreground command whose result has shown its end", id)
	case d.owner != h && h.took:
		return // a program that takes over tells of all the chat's
	case d.owner != h:
		s.fail("%s belongs to another Set", id)
	case ended && d.shown:
		s.fail("%s is told after a result has shown it", id)
	case ended && d.life.State != procmgr.Exited:
		s.fail("%s is told before it has ended", id)
	case ended && d.told > 0:
		s.fail("%s is told twice", id)
	case matched && d.matchesTold > 0:
		s.fail("the match of %s is told twice", id)
	}
	if s.broken != nil {
		return
	}
	if ended {
		d.told++
	}
	if matched {
		d.matchesTold++
	}
}

// result enters a result, which h has got. With dropped the model never sees
// it: for the tools that makes no difference.
func (s *simulation) result(h *host, r toolset.Report, about string) {
	for _, line := range r.Meanwhile {
		id, _, _ := strings.Cut(line, " ")
		if id == about && r.State != "" {
			s.fail("%s is told in the result that shows it", id)
		}
		for _, p := range r.Processes {
			if p.ID == id {
				s.fail("%s is told in the list that shows it", id)
			}
		}
		s.tell(h, id, !strings.HasSuffix(line, "match of "+id+`"`), strings.Contains(line, "match of"))
	}
	for _, p := range r.Processes {
		if d := s.fates[p.ID]; p.State == procmgr.Exited && d != nil && d.owner == h {
			d.shown, d.seen = true, true
		}
	}
}

func (s *simulation) call(h *host, tool, arguments string) toolset.Report {
	return h.set.Call(s.context(), toolset.Call{Name: tool, Arguments: json.RawMessage(arguments)}).Report
}

func (s *simulation) start(h *host) {
	background, ends, notify := s.IntN(2) == 0, s.IntN(3) == 0, !s.gaps && s.IntN(4) > 0
	s.world.ends = ends
	before := len(s.world.all)
	arguments := `{"command":"job"}`
	switch {
	case background && notify:
		arguments = `{"command":"job","run_in_background":true,"notify_on":"x"}`
	case background:
		arguments = `{"command":"job","run_in_background":true}`
	}
	r := s.call(h, "execute", arguments)
	if len(s.world.all) == before {
		s.fail("nothing was started: %s", r.Error)
		return
	}
	d := &destiny{life: s.world.all[before], starter: h, shown: ends}
	s.fates[d.life.ID] = d
	if !ends {
		d.owner = h
	}
	s.result(h, r, d.life.ID)
}

func (s *simulation) read(h *host) {
	if d := s.any(func(*destiny) bool { return true }); d != nil {
		r := s.call(h, "process_output", `{"process_id":"`+d.life.ID+`","wait_timeout":"0s"}`)
		if d.life.State == procmgr.Exited && !d.life.gone && d.owner == h {
			d.shown, d.seen = true, true
		}
		s.result(h, r, d.life.ID)
	}
}

func (s *simulation) pend(h *host) {
	n, err := h.box.Pending(context.Background()) // the Inbox has the values of its own
	if err != nil {
		s.fail("pending: %v", err)
	}
	for _, p := range n.Processes {
		if d := s.fates[p.ID]; d == nil || d.owner != h || d.shown && p.State == procmgr.Exited {
			s.tell(h, p.ID, p.State == procmgr.Exited, false) // says what is wrong
		}
		if !strings.Contains(n.Text, "\n- "+p.ID+" ") {
			s.fail("the text has nothing of %s: %s", p.ID, n.Text)
		}
	}
	h.pending = n
}

func (s *simulation) ack(h *host) {
	for _, p := range h.pending.Processes {
		d := s.fates[p.ID]
		_, line, _ := strings.Cut(h.pending.Text, "\n- "+p.ID+" ")
		line, _, _ = strings.Cut(line, "\n")
		shown := d.shown
		d.shown = false // if it is shown, then only since it was sent
		s.tell(h, p.ID, p.State == procmgr.Exited, strings.Contains(line, "match of"))
		d.shown = shown
	}
	h.box.Ack(h.acked) // once more, by a host that is not sure
	h.cursor = h.box.Ack(h.pending)
	h.acked, h.pending = h.pending, toolset.Notices{}
	for _, d := range s.fates {
		if d.owner == h {
			d.known, d.acked, d.matchAcked, d.shownBefore = true, d.told > 0, d.matchesTold > 0, d.shown
		}
		if d.owner == nil && d.starter == h {
			d.shownBefore = d.shown
		}
	}
}

// restart lets a program crash, and begin anew with what it has saved.
func (s *simulation) restart(h *host) {
	h.set, h.took = s.fresh(), true
	h.pending = toolset.Notices{}
	for _, d := range s.fates {
		if d.owner == nil && d.starter == h {
			d.shown = d.shownBefore
		}
		if d.owner != h {
			continue
		}
		// What was not saved may be told again. A foreground command that was
		// left since, and has ended, cannot be told from one whose result has
		// shown its end.
		d.shown = d.shownBefore
		if !d.acked {
			d.seen, d.told = d.seen || d.told > 0, 0
		}
		if !d.matchAcked {
			d.matchSeen, d.matchesTold = d.matchSeen || d.matchesTold > 0, 0
		}
		if !d.known && !d.life.Background && d.life.State == procmgr.Exited {
			d.lost = true
		}
	}
	h.box = h.set.Inbox(s.context(), h.cursor)
}

func (s *simulation) any(wanted func(*destiny) bool) *destiny {
	var some []*destiny
	for _, l := range s.world.all {
		if d := s.fates[l.ID]; d != nil && wanted(d) {
			some = append(some, d)
		}
	}
	if len(some) == 0 {
		return nil
	}
	return some[s.IntN(len(some))]
}

// fresh returns a Set that has not seen this chat.
func (s *simulation) fresh() *toolset.Set {
	return newSet(resolve, &toolset.Options{NoticesInInbox: s.mode})
}

func (s *simulation) context() context.Context {
	return context.WithValue(context.Background(), viewKey{}, s.view)
}

type viewKey struct{}

// resolve returns the view in the context.
func resolve(ctx context.Context) (procmgr.Manager, error) {
	return ctx.Value(viewKey{}).(func() *view)(), nil
}

// views returns a function that returns the same view each time, or an equal
// one by another pointer.
func views(w *world, chat string, same bool) func() *view {
	v := &view{w, chat}
	if same {
		return func() *view { return v }
	}
	return func() *view { return &view{w, chat} }
}

func (s *simulation) step() {
	h := s.sets[s.IntN(len(s.sets))]
	running := func(d *destiny) bool { return d.life.State != procmgr.Exited }
	switch k := s.IntN(20); {
	case k < 4:
		s.start(h)
	case k < 9:
		if d := s.any(running); d != nil {
			s.world.exit(d.life, s.IntN(2))
		}
	case k < 11:
		s.read(h)
	case k < 12:
		s.result(h, s.call(h, "process_list", `{}`), "")
	case k < 13: // a result that is about nothing
		s.result(h, s.call(h, "process_output", `{"process_id":"none"}`), "")
	case k < 15:
		s.pend(h)
	case k < 17:
		s.ack(h)
	case k < 18:
		if d := s.any(func(d *destiny) bool { return running(d) && d.life.notify }); d != nil {
			d.matched = true
			s.world.match(d.life)
		}
	case k < 19:
		if d := s.any(func(d *destiny) bool { return !running(d) }); d != nil && s.drops {
			d.life.dropped = true
			d.life.gone = s.IntN(2) == 0
		}
		if s.gaps && s.IntN(2) == 0 {
			s.world.lost = len(s.world.log)
		}
	case s.crash:
		s.restart(s.sets[0])
	}
}

// run runs one schedule, and returns what is wrong with it.
func (s *simulation) run() error {
	for range 2 {
		s.world.exit(s.world.begin("", procmgr.StartRequest{Background: true}), 0) // of the host
		s.world.exit(s.world.begin(s.chat+"-other", procmgr.StartRequest{Background: true}), 0)
	}
	for i := range s.sets {
		h := &host{set: s.fresh()}
		h.box = h.set.Inbox(s.context(), "")
		h.cursor = h.box.Ack(toolset.Notices{})
		s.sets[i] = h
	}
	for range s.steps {
		if s.step(); s.broken != nil {
			return s.broken
		}
	}
	// In the end everything ends, and everything is told.
	for _, d := range s.fates {
		if d.life.State != procmgr.Exited {
			s.world.exit(d.life, 0)
		}
	}
	for _, h := range s.sets {
		for range 8 {
			if s.pend(h); s.broken == nil && len(h.pending.Processes) > 0 {
				s.ack(h)
			} else if !s.mode {
				s.result(h, s.call(h, "process_list", `{}`), "")
			}
			if s.broken != nil {
				return s.broken
			}
		}
	}
	for _, d := range s.fates {
		if d.lost {
			continue
		}
		if d.owner != nil && !d.seen && d.told == 0 {
			s.fail("the end of %s is not told", d.life.ID)
		}
		if d.owner != nil && d.matched && !d.seen && !d.matchSeen && d.told+d.matchesTold == 0 {
			s.fail("the match of %s is not told", d.life.ID)
		}
	}
	return s.broken
}

// simulate runs schedules until one fails, at most as many as most.
func simulate(most int, mode bool, seed uint64) error {
	for n := range most {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		s := &simulation{
			Rand:  rng,
			chat:  "chat",
			world: newWorld(),
			sets:  make([]*host, 1+rng.IntN(2)),
			fates: make(map[string]*destiny),
			mode:  mode,
			gaps:  rng.IntN(4) == 0,
			steps: 4 + rng.IntN(20),
			crash: mode && rng.IntN(2) == 0,
		}
		s.drops = rng.IntN(3) == 0 && (!s.crash || !s.gaps)
		// If all records of a chat have gone, only its manager can name it.
		s.view = views(s.world, s.chat, s.drops || rng.IntN(2) == 0)
		if err := s.run(); err != nil {
			return fmt.Errorf("schedule %d of seed %d (gaps %v, crash %v): %w", n, seed, s.gaps, s.crash, err)
		}
	}
	return nil
}

// Each end is told at least once, without a crash exactly once, and never after
// a result has shown it.
func TestNoticesSimulation(t *testing.T) {
	t.Parallel()
	simulateAll(t, 2_000)
}

func TestHeldNoticesSimulation(t *testing.T) {
	testenv.Held(t)
	simulateAll(t, testenv.Rounds(30_000, 100_000))
}

func simulateAll(t *testing.T, schedules int) {
	var workers sync.WaitGroup
	for seed := range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for _, mode := range []bool{false, true} {
				if err := simulate(schedules/2/runtime.GOMAXPROCS(0), mode, uint64(seed)); err != nil {
					t.Errorf("inbox %v: %v", mode, err)
				}
			}
		})
	}
	workers.Wait()
}
