package proctest_test

import (
	"strings"

	"github.com/toolproc/toolproc/procmgr"
)

// finds is the fault of telling something else of a search.
func finds(f func(out *procmgr.Output, req procmgr.OutputRequest)) fault {
	return prints(func(out *procmgr.Output, req procmgr.OutputRequest) {
		if req.Until != "" {
			f(out, req)
		}
	})
}

var brokenSearches = []brokenHost{
	{
		name:  "does not say what it has found",
		fault: always(finds(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.MatchedLine = "" })),
		fails: []string{"search/the line that matched"},
	},
	{
		name: "quotes the last line",
		fault: always(finds(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			lines := strings.Split(strings.TrimSuffix(out.Text, "\n"), "\n")
			out.MatchedLine = lines[len(lines)-1]
		})),
		fails: []string{"search/the line that matched"},
	},
	{
		name:  "counts from the page",
		fault: always(finds(func(out *procmgr.Output, req procmgr.OutputRequest) { out.MatchedAt -= req.From })),
		fails: []string{"search/the line that matched"},
	},
	{
		name: "quotes long lines whole",
		fault: always(finds(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			if len(out.MatchedLine) > 200 {
				out.MatchedLine = out.Text
			}
		})),
		fails: []string{"search/the line that matched"},
	},
	{
		name:  "says that it has looked at all",
		fault: always(finds(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.Unsearched = 0 })),
		fails: []string{"search/what was not searched"},
	},
	{
		name:  "says that it has looked at nothing",
		fault: always(finds(func(out *procmgr.Output, _ procmgr.OutputRequest) { out.Unsearched = out.Next })),
		fails: []string{"search/what was not searched"},
	},
	{
		name: "forgets long lines",
		fault: always(finds(func(out *procmgr.Output, _ procmgr.OutputRequest) {
			if out.Unsearched < 10000 {
				out.Unsearched = 0
			}
		})),
		fails: []string{"search/what was not searched"},
	},
}
