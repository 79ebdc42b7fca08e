//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"errors"
	"log/slog"
	"time"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/osproc"
)

// look does what a keeper does now and then: it makes its directory anew if that was
// removed, writes down what it couldn't write before, ends what a dead keeper has left,
// and ends itself if it is of no use any more.
func (k *keeper) look() {
	if err := k.findable(); err != nil {
		k.log.Warn("programs may not find the keeper", slog.String("error", err.Error()))
		return
	}
	newest, others := false, []*generation(nil)
	err := k.do(func(t *table) error {
		newest = t.newest == k.token
		for token, g := range t.generations {
			if token != k.token {
				others = append(others, &generation{line: g.line})
			}
		}
		return k.writeLate()
	})
	if err != nil {
		k.log.Warn("the IDs cannot be written down", slog.String("error", err.Error()))
		return
	}
	for _, g := range others {
		if isDead(k.dir, g.Keeper) {
			k.endSurvivors(g.Keeper)
		}
	}
	switch {
	case !newest && k.drained():
		go func() { _ = k.end(endDrained) }() // it ends the keeper, which run waits for
	case newest && k.idle >= 0 && k.isIdle():
		go func() { _ = k.end(endIdle) }() // as above
	}
	k.compactIfLarge()
	k.orphans.reap(k.leads)
}

// leads reports whether a process may be the leader of one of this keeper's processes.
func (k *keeper) leads(pid int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if g := k.ids.generations[k.token]; g != nil {
		for _, c := range g.open {
			if c.Lineage == nil || c.Lineage.PID == 0 || c.Lineage.PID == pid {
				return true
			}
		}
	}
	return false
}

// endSurvivors ends what a dead keeper has left, and tells of it. Of two keepers that do
// that at once, one line counts. The end of this keeper waits for it.
func (k *keeper) endSurvivors(token string) {
	if _, busy := k.reaping.LoadOrStore(token, true); busy {
		return
	}
	var dead []osproc.Lineage
	k.mu.Lock()
	if g := k.ids.generations[token]; g != nil {
		dead = g.lineages()
	}
	k.mu.Unlock()
	k.workers.Go(func() {
		defer k.reaping.Delete(token)
		k.log.Warn("a keeper has died", slog.String("token", token), slog.Int("running", len(dead)))
		if err := osproc.EndSurvivors(k.ctx, dead, survivorGrace); err != nil && !errors.Is(err, errors.ErrUnsupported) {
			k.log.Error("not all processes of a dead keeper are gone", slog.String("error", err.Error()))
			return // the next look tries again
		}
		k.mu.Lock()
		defer k.mu.Unlock()
		k.writeLater(line{Kind: lineGone, Keeper: token, At: time.Now().UnixMilli()})
	})
}

// drained reports whether nothing is left of this keeper's processes, not even results.
// What is still about to start is refused, because this keeper isn't the newest one.
func (k *keeper) drained() bool {
	page, err := k.local.List(k.ctx, procmgr.ListRequest{Limit: 1})
	return err == nil && page.Total == 0
}

// isIdle reports whether nothing has run and nobody has asked for the idle time. From
// then on, nothing starts.
func (k *keeper) isIdle() bool {
	page, err := k.local.List(k.ctx, procmgr.ListRequest{Limit: 1})
	if err != nil || page.Live > 0 {
		k.socketMu.Lock()
		k.asked = time.Now() // the exit of what lives counts
		k.socketMu.Unlock()
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.socketMu.Lock()
	defer k.socketMu.Unlock()
	if k.asking > 0 || time.Since(k.asked) < k.idle {
		return false
	}
	k.ending = true // before the look at asking: a request that comes now claims nothing
	return true
}

// compactIfLarge replaces the file "ids" by a short one if no other keeper uses it.
func (k *keeper) compactIfLarge() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.ids.off < k.compactedTo*2+compactAt {
		return
	}
	lock, err := lockDirNow(k.dir)
	if err != nil || lock == nil {
		return // an opener is at it
	}
	defer lock.Close()
	if err := k.ids.compact(); err != nil {
		k.log.Warn("the file with the IDs was not compacted", slog.String("error", err.Error()))
	}
	k.compactedTo = k.ids.off
}
