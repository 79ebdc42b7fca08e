package toolset

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/toolproc/toolproc/chattool/arguments"
	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/chattool/toolset/internal/advice"
	"github.com/toolproc/toolproc/procmgr"
)

// output reads the output of a process.
func (k *kit) output(ctx context.Context, c Call, t *turn) report {
	args := outputArgs{WaitTimeout: arguments.Duration(k.opts.DefaultTimeout)}
	m, res, ok := k.begin(ctx, t, c, &args, "")
	if !ok {
		return res
	}
	budget, cut := k.allow(int(args.MaxOutput))
	ctx, leave := k.enter(ctx, inFlight{m: m, id: string(args.ProcessID)})
	defer leave()
	rep := k.readOutput(ctx, c, m, args, budget)
	rep.Budget, rep.whole = budget, args.MaxOutput != 0
	rep.Add(cut)
	return rep
}

// readOutput does the work of output, for arguments that can be used.
func (k *kit) readOutput(ctx context.Context, c Call, m procmgr.Manager, args outputArgs, budget budget) report {
	wait, clamped := k.opts.clamp("wait_timeout", args.WaitTimeout)
	id := string(args.ProcessID)
	req := procmgr.OutputRequest{From: int64(args.Since), Wait: wait, Until: string(args.WaitFor), UntilListening: int(args.WaitForPort)}
	req.Limit, req.Highlight = k.outputLimits(budget)
	out, err := k.await(ctx, c, m, id, req)
	if err == nil && out.Process.ID == "" {
		out.Process.ID = id
	}
	silence := silence{kit: k, call: c, m: m, req: req, quiet: !k.opts.Whole && !bool(args.Screen)}
	if err == nil {
		out = silence.wait(ctx, out)
	}
	res, refused := k.failed(c, id, "read", err)
	switch {
	case err == nil && ctx.Err() != nil && alive(out.Process) && !out.Matched:
		return k.leftAlone(ctx, out, req.From)
	case err == nil:
	case errors.Is(err, errors.ErrUnsupported) && req.UntilListening != 0:
		return refuse("%s: wait_for_port does not work here: %s. Use wait_for with a line that the process prints when it is ready", k.names.output, words(err))
	case refused:
		return res
	case ctx.Err() != nil:
		if out, err := k.snapshot(ctx, m, id, req.From); err == nil {
			return k.leftAlone(ctx, out, req.From)
		}
		return k.canceled(ctx, "process "+id+" was left alone", nil, id)
	default:
		snapshot, serr := k.snapshot(ctx, m, id, req.From)
		if serr != nil {
			rep := unsure(id, "reading failed: %s", words(err))
			rep.Add("The process may live. Try again, and tell the user if that fails too.")
			return rep
		}
		rep := k.read(m, snapshot, req.From, "")
		if alive(snapshot.Process) {
			rep.fail("waiting failed: %s", words(err))
			rep.Add("This is the output so far. Read again to wait on.")
		}
		return rep
	}
	rep := k.read(m, out, req.From, clamped)
	if req.From > out.Next {
		rep.Add("since %d lies beyond the end of the output, which is now at %d.", req.From, out.Next)
	}
	if heard := rep.heard(out, req.UntilListening, wait); !heard || out.Matched {
		rep.searched(out, req.From, req.Until, wait)
	}
	if !bool(args.Screen) || !k.showScreen(ctx, m, &rep, out, true) {
		k.advise(ctx, &rep, m, advice.Result{Output: out, Command: k.source(ctx, m, out.Process.Command), Reading: true})
	}
	silence.tell(&rep, out)
	return rep
}

// leftAlone returns the result of a wait that ended because the call's context
// did.
func (k *kit) leftAlone(ctx context.Context, out procmgr.Output, from int64) report {
	id := out.Process.ID
	rep := k.describeFrom(out, from)
	rep.fail("%s; process %s was left alone", endOf(ctx), id)
	rep.NextOffset = &out.Next
	if alive(out.Process) && !stopped(ctx) {
		rep.Add(`Use %s {"process_id":%q,"since":%d} to wait on.`, k.names.output, id, out.Next)
	}
	return rep
}

// read reports on a process that the model named by its ID, from an offset on.
func (k *kit) read(m procmgr.Manager, out procmgr.Output, from int64, clamped string) report {
	rep := k.describeFrom(out, from)
	rep.compare = true
	k.place(&rep, m, out)
	rep.NextOffset = &out.Next
	rep.Add(clamped)
	k.tellPrompt(&rep, out)
	if out.Process.State == procmgr.Detached {
		rep.Add("The shell has ended; processes that it started live on, and %s ends them.", k.names.signal)
	}
	return rep
}

// maxMatched is how much of a matched line a note quotes, in bytes of the
// result.
const maxMatched = 400

// slashed matches a pattern in the notation of JavaScript, sed and Perl. It may also be a
// path.
var slashed = regexp.MustCompile(`^/.+/[gimsuvxy]*$`)

// slashes says that RE2 searches for the slashes and the flags of such a pattern, too.
func slashes(name, pattern string) string {
	if !slashed.MatchString(pattern) {
		return ""
	}
	return "The slashes of " + name + " are searched for, too, and so is what follows them; (?i) in front of a pattern ignores case."
}

// searched adds the result of wait_for to the note.
func (r *report) searched(out procmgr.Output, from int64, pattern string, wait time.Duration) {
	p := out.Process
	switch {
	case pattern == "":
		return
	case out.Matched && pattern != "." && (out.MatchedLine != "" || out.MatchedAt > 0):
		r.Add("wait_for matched at offset %d: %s.", out.MatchedAt, wording.Quote(out.MatchedLine, maxMatched))
		return
	case out.Matched:
		r.Add("wait_for matched.")
		return
	case p.State == procmgr.Exited:
		r.Add("The process ended without a match for wait_for.")
	case p.State == procmgr.Detached:
		r.Add("wait_for has not matched; the shell has ended.")
	case out.Process.Waiting != nil:
		r.Add("wait_for has not matched so far.")
	default:
		r.Add("wait_for did not match within %s; the process still runs.", wording.Duration(wait))
	}
	r.Add(slashes("wait_for", pattern))
	if from > 0 {
		r.Add("Output before since was not searched; leave since out to search that too.")
	}
	if out.Unsearched <= 0 {
		return
	}
	r.Add("%d bytes of the output were not searched: they are no longer kept, or stand beyond the first 4 KiB of their line.", out.Unsearched)
	if p.LogPath != "" && p.LogError == "" {
		r.LogPath = p.LogPath
		r.Add(`They are in the log: grep -n -a -b -o 'PATTERN.\{0,200\}' FILE`)
	}
}

// heard adds the result of wait_for_port to the note, and reports whether the
// process listens on that port.
func (r *report) heard(out procmgr.Output, port int, wait time.Duration) bool {
	if port == 0 {
		return false
	}
	others := make([]string, 0, len(out.Listening))
	for _, l := range out.Listening {
		if portOf(l) == port {
			r.Add("It listens on port %d (%s, pid %d).", port, l.Addr, l.PID)
			return true
		}
		others = append(others, l.Addr)
	}
	rest := "; it listens on no port"
	if len(others) > 0 {
		rest = "; it listens on " + wording.Clip(strings.Join(others, ", "), maxMatched)
	}
	switch out.Process.State {
	case procmgr.Exited:
		r.Add("The process ended and does not listen on port %d.", port)
	case procmgr.Detached:
		r.Add("It does not listen on port %d, and the shell has ended%s.", port, rest)
	default:
		r.Add("It does not listen on port %d after %s%s.", port, wording.Duration(wait), rest)
	}
	return false
}

// portOf returns the port of a socket, or 0.
func portOf(l procmgr.Socket) int {
	port, err := strconv.Atoi(l.Addr[strings.LastIndexByte(l.Addr, ':')+1:])
	if err != nil {
		return 0
	}
	return port
}
