package page

import (
	"strings"

	"github.com/toolproc/toolproc/headtail"
)

// Fold folds a text, which a manager has cut or not.
func Fold(text string, isCut bool) string {
	s := source{text: text}
	if at := strings.Index(text, gapMarker); isCut && at >= 0 {
		s.gap = headtail.Cut{At: at, Len: strings.Index(text[at:], gapMarkerEnd) + len(gapMarkerEnd)}
	}
	return new(layout).fold(s.whole()).String()
}
