package advice

import (
	"slices"
	"strings"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// Redacted tells of the values that are masked in an output, so that a model takes the
// mask neither for the text of a file nor for a mistake. It is "" if none is. A program
// can print the words of a mask: that a value was masked is said beside the text.
func Redacted(out procmgr.Output) string {
	texts := []string{out.Text, out.MatchedLine}
	for _, h := range out.Highlights {
		texts = append(texts, h.Text)
	}
	if out.Screen != nil {
		texts = append(texts, out.Screen.Rows...)
	}
	var shown []string
	for _, name := range out.Redacted {
		if slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, "[withheld: "+name+"]") }) {
			shown = append(shown, name)
		}
	}
	return wording.Masked(shown)
}
