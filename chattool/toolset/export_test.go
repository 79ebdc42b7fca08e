package toolset

import (
	"context"
	"strings"
	"time"

	"github.com/toolproc/toolproc/headtail"
)

// Fold folds a text, which a manager has cut or not.
func Fold(text string, isCut bool) string {
	s := source{text: text}
	if at := strings.Index(text, gapMarker); isCut && at >= 0 {
		s.gap = headtail.Cut{At: at, Len: strings.Index(text[at:], gapMarkerEnd) + len(gapMarkerEnd)}
	}
	return new(Set).fold(s.whole()).String()
}

// Within is within.
func Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	l := within(ctx, d)
	return l, l.release
}

// Encode returns the JSON of a result with an output.
func Encode(output string) string { return FormatJSON.render(Report{Output: &output}) }
