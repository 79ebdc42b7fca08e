package advice

import (
	"fmt"
	"strings"

	"github.com/toolproc/toolproc/chattool/internal/wording"
)

// maxNames is how many withheld variables are named.
const maxNames = 5

// withheld names the variables that the command mentions and did not get. An
// echo of such a variable prints an empty line, as if the variable were not
// set.
func (r Result) withheld() string {
	names := r.Output.Withheld
	if len(names) == 0 || r.Reading && !r.Failed {
		return ""
	}
	named := make([]string, min(len(names), maxNames))
	for i := range named {
		named[i] = wording.Odd(names[i])
	}
	list, verb, it := strings.Join(named, ", "), "is", "it"
	if len(names) > 1 {
		verb, it = "are", "them"
	}
	if more := len(names) - maxNames; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s %s set on the host, but its environment policy keeps %s from commands, as it does with secrets; if the command needs %s, the user can allow it.",
		list, verb, it, it)
}
