package toolset

import (
	"context"
	"strings"

	"github.com/toolproc/toolproc/procmgr"
)

// showScreen puts the screen of a process in the place of the output, if the model
// has asked for it or the program shows the alternate one.
func (k *kit) showScreen(ctx context.Context, m procmgr.Manager, rep *report, out procmgr.Output, asked bool) bool {
	if out.Process.Stdin == procmgr.StdinTerminal {
		now, err := m.Output(ctx, out.Process.ID, procmgr.OutputRequest{From: out.Next, Screen: true, Limit: k.opts.Limit})
		if err == nil && now.Screen != nil && (asked || now.Screen.Alternate) {
			rep.show(now.Screen, out)
			return true
		}
	} else if asked {
		rep.Add("The process has no terminal, so there is no screen.")
	}
	return false
}

// show puts a screen in the place of the output.
func (r *report) show(screen *procmgr.Screen, out procmgr.Output) {
	r.Screen = screen
	rows := screen.Rows
	for len(rows) > 0 && rows[len(rows)-1] == "" && len(rows) > screen.Row+1 {
		rows = rows[:len(rows)-1]
	}
	out.Highlights = nil
	out.Text, out.Truncated = strings.Join(rows, "\n"), nil
	r.Out = &out
	r.Add("This is the screen; the cursor is in row %d, column %d.", screen.Row+1, screen.Col+1)
}
