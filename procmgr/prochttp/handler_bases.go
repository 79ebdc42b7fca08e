package prochttp

import (
	"slices"
	"sync"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
)

const (
	// maxBases is how many environments a handler remembers: one for each program
	// that uses a keeper, and for each time that its environment has changed.
	maxBases = 32
	// maxBaseBytes is how many bytes they have together.
	maxBaseBytes = 1 << 20
)

// bases has the environments that starts have brought, by their sums. The handler
// makes the sums itself, so no caller can give an environment the sum of another
// one. It is safe for concurrent use.
type bases struct {
	mu    sync.Mutex  // guards the fields below
	known []knownBase // the last one that was used comes last
	bytes int
}

type knownBase struct {
	*baseenv.Base // without a directory
	bytes         int
}

// errNoBase is the error of a sum that is not known, or not any more.
var errNoBase = xerrors.New("the environment is not known")

// whole returns a base with its environment, and remembers that.
func (b *bases) whole(base *baseenv.Base) (*baseenv.Base, error) {
	if base == nil {
		return nil, nil //nolint:nilnil // the handler's own environment counts
	}
	if base.Sum == "" {
		b.add(base)
		return base, nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	i := slices.IndexFunc(b.known, func(k knownBase) bool { return k.Sum == base.Sum })
	if i < 0 {
		return nil, errNoBase
	}
	found := b.known[i]
	b.known = append(slices.Delete(b.known, i, i+1), found)
	return &baseenv.Base{Env: found.Env, Withheld: found.Withheld, Secrets: found.Secrets, Dir: base.Dir}, nil
}

// add remembers the environment of a base, in place of those that were used least
// lately.
func (b *bases) add(base *baseenv.Base) {
	one := knownBase{Base: &baseenv.Base{Env: base.Env, Withheld: base.Withheld, Secrets: base.Secrets, Sum: base.Digest()}}
	const header = 16 // of a string in memory
	for _, list := range [...][]string{base.Env, base.Withheld} {
		for _, s := range list {
			one.bytes += len(s) + header
		}
	}
	for _, v := range base.Secrets {
		one.bytes += len(v.Name) + len(v.Value) + 2*header
	}
	if one.bytes > maxBaseBytes {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if i := slices.IndexFunc(b.known, func(k knownBase) bool { return k.Sum == one.Sum }); i >= 0 {
		b.drop(i)
	}
	for len(b.known) >= maxBases || b.bytes+one.bytes > maxBaseBytes {
		b.drop(0)
	}
	b.known = append(b.known, one)
	b.bytes += one.bytes
}

// drop forgets one. The caller holds mu.
func (b *bases) drop(i int) {
	b.bytes -= b.known[i].bytes
	b.known = slices.Delete(b.known, i, i+1)
}
