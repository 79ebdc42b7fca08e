package toolset

import (
	"fmt"
	"math"
	"strconv"

	"github.com/toolproc/toolproc/headtail"
)

const (
	// defaultTokens is how much of its context a model spends on a result
	// unless it asks for more or less.
	defaultTokens = 8000
	// tokenBytes is how many bytes count as a token if nothing counts them:
	// the output of tools has 2.3 to 2.7 bytes in a token of o200k_base, so a
	// result stays below its budget.
	tokenBytes = 2
	// mostTokenBytes is how many bytes of a text the first attempt has for
	// each token if writer.CountTokens counts them.
	mostTokenBytes = 4
	// maxCounts is how often CountTokens is called for one result.
	maxCounts = 3
)

// A budget is what a result may take.
type budget struct {
	tokens int
	most   bool // writer.Limit allows no more
}

// limit returns how many bytes a result may take, however many tokens a model
// asks for.
func (w writer) limit() int {
	switch n := w.Limit.Bytes; {
	case n == 0:
		return headtail.DefaultTextLimit
	case n > 0:
		return n
	}
	return math.MaxInt
}

// allow returns the budget of a call that asks for a number of tokens; 0 is the
// default. The note says that it got fewer, or is "".
func (w writer) allow(want int) (b budget, note string) {
	most := max(w.limit()/tokenBytes, 1)
	b.tokens = min(want, most)
	if want == 0 {
		b.tokens = min(defaultTokens, most)
	}
	b.most = b.tokens == most
	if want > most {
		note = fmt.Sprintf("max_output was cut from %d to the most allowed, %d.", want, most)
	}
	return b, note
}

// listBytes returns how many bytes a list may take.
func (w writer) listBytes() int { return min(w.limit(), defaultTokens*tokenBytes) }

// byDefault says in a description how many tokens a result has by default.
func (w writer) byDefault() string {
	b, _ := w.allow(0)
	if b.tokens >= 1000 && b.tokens%1000 == 0 {
		return strconv.Itoa(b.tokens/1000) + "k"
	}
	return strconv.Itoa(b.tokens)
}

// attempt lays a draft out by attempts of a falling size in bytes, until it is
// within its budget. lay returns the text of one attempt.
func (w writer) attempt(b budget, lay func(size int) string) {
	if b.tokens == 0 {
		b, _ = w.allow(0)
	}
	if w.CountTokens == nil {
		lay(min(b.tokens, math.MaxInt/tokenBytes) * tokenBytes)
		return
	}
	size := min(min(b.tokens, math.MaxInt/mostTokenBytes)*mostTokenBytes, w.limit())
	for range maxCounts {
		text := lay(size)
		if len(text) <= b.tokens {
			return // no token has less than a byte
		}
		n := w.count(text)
		if n <= b.tokens {
			return
		}
		// A little less, because the middle that goes may be cheaper than
		// the rest.
		size = int(float64(len(text)) * float64(b.tokens) / float64(n) * 0.96)
	}
	lay(min(size, b.tokens))
}

// count returns how many tokens a text has. A tokenizer that panics, as some do
// for an odd text, must not cost the outcome of a command.
func (w writer) count(text string) (n int) {
	defer func() {
		if recover() != nil {
			n = len(text) / tokenBytes
		}
	}()
	return w.CountTokens(text)
}
