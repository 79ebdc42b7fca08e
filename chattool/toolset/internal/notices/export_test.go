package notices

import (
	"context"
	"time"
)

// Within is within.
func Within(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	l := within(ctx, d)
	return l, l.release
}
