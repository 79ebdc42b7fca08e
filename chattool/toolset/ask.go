package toolset

import (
	"slices"

	"github.com/toolproc/toolproc/procmgr"
)

// pagers are programs that show a text by pages, and take single keys.
var pagers = []string{"less", "more", "most", "pager"}

// tellQuestion says how to answer a program that waits for input, if there is one.
// Only the manager can know that; the question is what the output ends with.
func (k *kit) tellQuestion(rep *report, m procmgr.Manager, out procmgr.Output) {
	if out.Process.Waiting == nil || !alive(out.Process) {
		return
	}
	rep.Waiting = out.Process.Waiting
	if !k.opts.Input || !k.machines.hasInput(m) {
		return
	}
	switch id := out.Process.ID; {
	case out.Process.Waiting.Secret:
		rep.Add(`It waits for a password. Answer with %s {"process_id":%q,"text":…,"keys":["enter"],"secret":true}; ask the user for a password that you do not have.`, k.names.input, id)
	case out.Process.Stdin == procmgr.StdinTerminal && slices.Contains(pagers, out.Process.Waiting.Program):
		rep.Add(`The pager %s waits for a key. %s {"process_id":%q,"text":"q"} ends it; a space in the place of q shows the next page.`, out.Process.Waiting.Program, k.names.input, id)
	case out.Process.Stdin == procmgr.StdinTerminal:
		rep.Add(`It waits for input. Answer with %s {"process_id":%q,"text":…,"keys":["enter"]}.`, k.names.input, id)
	default:
		rep.Add(`It waits for input. Answer with %s {"process_id":%q,"text":"…\n"}.`, k.names.input, id)
	}
}
