package toolset

import (
	"context"
	"math"
	"time"

	"github.com/toolproc/toolproc/headtail"
)

// Fold folds a text, which a manager has cut or not.
func Fold(text string, isCut bool) string {
	c := cut{end: text}
	if isCut {
		c = split(text, &anyCut)
	}
	return anySet.fold(c).String()
}

var (
	anySet Set
	anyCut = headtail.Truncation{OmittedBytes: math.MaxInt64}
)

// Within is within.
func Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	l := within(ctx, d)
	return l, l.release
}

// Encode returns the JSON of a result with an output.
func Encode(output string) string { return FormatJSON.render(Report{Output: &output}) }
