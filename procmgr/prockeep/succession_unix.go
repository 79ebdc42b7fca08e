//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package prockeep

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/internal/lineage"
	"github.com/toolproc/toolproc/procmgr/internal/procstat"
	"github.com/toolproc/toolproc/procmgr/prockeep/internal/holder"
	"github.com/toolproc/toolproc/procmgr/prockeep/internal/journal"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// seqSocket is under what the holder has the listening socket: connections that
// come while no keeper lives wait for the next one.
const (
	seqSocket  = uint64(math.MaxUint64)
	roleSocket = "socket"
	roleName   = "name" // that of the directory
)

// seqJournal is under what the holder has the journal, which may have been removed
// when the next keeper needs it.
const (
	seqJournal  = seqSocket - 1
	roleJournal = "journal"
)

// stateVersion is that of the states and the records which this program reads and
// writes. Tests change it.
var stateVersion = carry.Version

// A succession is a state as one keeper gives it to the next one. Its version is
// that of State.
type succession struct {
	State    carry.State // without its files, which the holder has
	Instance string      // of the handler
	Answers  []byte      // of the handler
	Late     []journal.Entry
	Upgrade  string   // the name of this upgrade
	Upgrades []string // of the ones before it, the latest last
}

// maxUpgrades is how many upgrades a keeper remembers, so that a program learns
// that its own has come about.
const maxUpgrades = 64

// maxTokens is how many keepers before it a keeper remembers, so that a program
// knows the one that goes on for a keeper which it has asked to end.
const maxTokens = 16

// A check says what the program of an upgrade must be able to read and speak.
type check struct {
	Protocol int `json:"protocol"`
	State    int `json:"state"`
}

// otherVersion says what to do about a keeper of another version.
const otherVersion = "upgrade it with a program of its version, or stop it, which ends its processes"

// canFollow returns an error if this program cannot go on for a keeper.
func canFollow(text string, options passed, sandboxes makers) error {
	var c check
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		return xerrors.Errorf("what the keeper asks cannot be read: %w", err)
	}
	switch {
	case c.Protocol != protocol:
		return xerrors.Errorf("the keeper speaks protocol %d and this program protocol %d: %s", c.Protocol, protocol, otherVersion)
	case c.State != stateVersion:
		return xerrors.Errorf("the keeper's state has version %d, and this program reads version %d: %s", c.State, stateVersion, otherVersion)
	}
	if err := sandboxes.check(options); err != nil {
		return err
	}
	_, err := options.options()
	return err
}

// begin takes the socket, and then makes the Local: a keeper that cannot have the
// socket must not touch what the other one's processes use. It goes on from the
// keeper before this one, if there was one.
func (s *server) begin(o order, h *holder.Heritage) error {
	options, err := o.Options.options()
	if err != nil {
		return err
	}
	if !h.Ending {
		if options.Local.Sandbox, err = s.sandboxes.of(o.Options); err != nil {
			return err
		}
	}
	options.Local.Logger = s.log
	options.Local.OnExit = func(procmgr.Process) { s.asked(0) }
	s.local.options = options.Local
	if h.Ending || slices.Contains(endings(s.dir), s.token) {
		return s.endAgain(endingPath(s.dir, s.token), h)
	}
	if err := s.takeSocket(h); err != nil {
		return err
	}
	run, err := s.makeLocal(h)
	if err != nil {
		if h.Generation == 0 {
			_ = s.listener.Close() // it is not served; otherwise the next keeper does
		}
		return err
	}
	if s.link != nil {
		s.keep.tellLeaders()
		s.link.Settle(s.keep.journal.Late() == 0)
	}
	run()
	s.endOthers()
	return nil
}

// takeSocket listens, or takes over the sockets from the holder.
func (s *server) takeSocket(h *holder.Heritage) (err error) {
	path, name := filepath.Join(s.dir, nameSocket), -1
	for _, f := range h.Held {
		switch {
		case f.Seq != seqSocket:
		case f.Role == roleName:
			name = f.FD
		case f.Role == roleSocket:
			if s.listener, err = inherit(f.FD, path); err != nil {
				return err
			}
		}
	}
	if err := s.takeName(name); err != nil || s.listener != nil {
		return err
	}
	s.listener = &socket{path: path}
	file, err := s.listener.listen()
	if err != nil {
		return xerrors.Errorf("%v: %w", err, errTaken)
	}
	defer file.Close()
	return s.giveSocket(roleSocket, file)
}

// makeLocal makes the Local: of a state, of the journal, or a new one. The caller
// calls run.
func (s *server) makeLocal(h *holder.Heritage) (run func(), err error) {
	s.bringBack(filepath.Join(s.dir, nameJournal), h)
	j, past, err := s.openJournal()
	if err != nil {
		return nil, err
	}
	past.inherit(h)
	var local *proclocal.Local
	line := &lineage.Line{}
	run = func() {}
	switch {
	case h.State != nil:
		var next succession
		if next, err = readSuccession(h.State, past.Files); err == nil {
			line.Instance, line.Answers = next.Instance, next.Answers
			for _, e := range next.Late {
				j.Tell(e.Kind, e.Key, e.Record)
			}
			if s.upgrades = next.Upgrades; !h.Fallback {
				s.upgrades = append(s.upgrades, next.Upgrade)
			}
			s.upgrades = s.upgrades[max(0, len(s.upgrades)-maxUpgrades):]
			local, run, err = proclocal.Restore(&s.local.options, s.keep, &next.State)
		}
		s.log.Info("the keeper goes on", slog.Bool("earlier_program", h.Fallback))
	case h.Generation > 0 || len(past.Entries) > 0 || past.Holes:
		if past.instance != "" {
			line.Instance = lineage.After(past.instance)
		}
		s.log.Warn("the keeper before this one has died", slog.Int("ids", len(past.Entries)), slog.Bool("damaged", past.Holes))
		s.keep.putOff()
		local, run, err = proclocal.Recover(&s.local.options, s.keep, &past.Journal)
		if err == nil && !lives(past.live) {
			return nil, errMoved // nothing was written
		}
		s.keep.keepOn()
	default:
		local, err = proclocal.NewKept(&s.local.options, s.keep)
	}
	if err == nil {
		s.local.Local = local
		err = s.handle(line)
	}
	if err != nil {
		_ = j.Close() // it is as it was
		return nil, err
	}
	if line.Instance != past.instance {
		j.Tell(journal.Note, noteInstance, []byte(line.Instance))
	}
	return run, nil
}

// bringBack lets the journal of the keeper before this one be at a path, if it was
// removed from there.
func (s *server) bringBack(path string, h *holder.Heritage) {
	for _, f := range h.Held {
		if f.Seq != seqJournal {
			continue
		}
		file := os.NewFile(uintptr(f.FD), roleJournal)
		err := makeDir(s.dir)
		if err == nil {
			err = journal.Copy(path, file)
		}
		if err != nil {
			s.log.Error("the journal was removed, and cannot be made anew", slog.String("error", err.Error()))
		}
		_ = file.Close() // it was read
	}
}

// openJournal opens the journal of the directory. One that is of before a restart
// of the machine is begun anew: it speaks of nothing that there is.
func (s *server) openJournal() (*journal.Journal, past, error) {
	path, boot := filepath.Join(s.dir, nameJournal), bootID()
	for {
		j, err := journal.Open(path)
		if err != nil {
			return nil, past{}, err
		}
		s.keep = newKeep(j, s.link, s.log)
		s.keep.look = s.look
		s.keep.share()
		p := s.keep.past()
		if p.boot == "" && boot != "" {
			j.Tell(journal.Note, noteBoot, []byte(boot))
		}
		if p.boot == "" || p.boot == boot {
			if err := p.check(path); err != nil {
				_ = j.Close() // it is as it was
				return nil, past{}, err
			}
			if p.version == "" {
				j.Tell(journal.Note, noteVersion, []byte(strconv.Itoa(stateVersion)))
			}
			s.tokens = p.tokens
			if !slices.Contains(s.tokens, s.token) {
				s.tokens = append(s.tokens[max(0, len(s.tokens)-maxTokens):], s.token)
				j.Tell(journal.Note, noteTokens, []byte(strings.Join(s.tokens, " ")))
			}
			return j, p, nil
		}
		err = j.Remove()
		_ = j.Close() // nobody needs it
		if err != nil {
			return nil, past{}, err
		}
	}
}

// lives reports whether all of some processes live. They are the holder's children,
// and it does not reap them now, so their numbers are their own. One that exits has no
// environment any more, so that a search has taken it for another program's.
func lives(pids []int) bool {
	for _, pid := range pids {
		if p, ok := procstat.Look(pid); !ok || p.Ended() || p.Exiting {
			return false
		}
	}
	return true
}

// readSuccession reads a state, to which files belong.
func readSuccession(f *os.File, files map[uint64][]carry.File) (s succession, err error) {
	defer f.Close()
	data, err := io.ReadAll(io.NewSectionReader(f, 0, math.MaxInt64))
	if err == nil {
		err = json.Unmarshal(data, &s)
	}
	if err != nil {
		return s, xerrors.Errorf("the state of the keeper before this one cannot be read: %w", err)
	}
	s.State.Files = files
	return s, nil
}

// errMoved is the error of a keeper that cannot tell what has run. The holder starts
// another one, which sees what has ended.
var errMoved = errors.New("a child of the dead keeper has ended just now")

// errEnding is the error of an upgrade of a keeper that ends.
var errEnding = errors.New("the keeper is about to end")
