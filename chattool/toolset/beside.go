package toolset

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// maxBeside is how many living processes are looked at for another one.
const maxBeside = 64

// beside returns the other living processes of the chat of p.
func beside(ctx context.Context, m procmgr.Manager, p procmgr.Process) []procmgr.Process {
	page, _ := m.List(ctx, procmgr.ListRequest{Limit: maxBeside}) // also of machines that have answered
	return slices.DeleteFunc(page.Processes, func(other procmgr.Process) bool {
		return other.ID == p.ID || other.ChatID != p.ChatID || other.State == procmgr.Exited
	})
}

// sameCommand returns the ID of a living process of the same chat with the same command and
// directory, or "".
func sameCommand(ctx context.Context, m procmgr.Manager, p procmgr.Process) (id string) {
	for _, other := range beside(ctx, m, p) {
		if other.Command == p.Command && other.WorkDir == p.WorkDir {
			return other.ID
		}
	}
	return ""
}

var (
	addressInUse = regexp.MustCompile(`(?i)address already in use|EADDRINUSE|\bport \d+ is (already )?(in use|allocated)`)
	number       = regexp.MustCompile(`\b\d{2,5}\b`)
)

// portHolder says which process of the same chat listens on the port that p could not
// listen on: a number in its command, or in the line that says so. It is "" if there is
// none.
func portHolder(ctx context.Context, m procmgr.Manager, p procmgr.Process, output string) string {
	if p.State != procmgr.Exited || p.ExitCode != nil && *p.ExitCode == 0 || !addressInUse.MatchString(output) {
		return ""
	}
	text := p.Command
	for line := range strings.Lines(output) {
		if addressInUse.MatchString(line) {
			text += "\n" + line
		}
	}
	numbers := number.FindAllString(text, -1)
	for _, other := range beside(ctx, m, p) {
		out, _ := m.Output(ctx, other.ID, procmgr.OutputRequest{From: math.MaxInt64, Ports: true}) // or it has no ports
		for _, l := range out.Listening {
			if port := l.Addr[strings.LastIndexByte(l.Addr, ':')+1:]; slices.Contains(numbers, port) {
				return fmt.Sprintf("process %s (%s) of this chat listens on port %s", wording.Odd(other.ID), wording.Quote(other.Command, maxToldCommand), port)
			}
		}
	}
	return ""
}
