package notices

import (
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/toolproc/toolproc/chattool/internal/wording"
	"github.com/toolproc/toolproc/procmgr"
)

// maxBeside is how many living processes are looked at for another one.
const maxBeside = 64

// beside returns the other processes of the chat of p that live.
func beside(ctx context.Context, m procmgr.Manager, p procmgr.Process) []procmgr.Process {
	page, _ := m.List(ctx, procmgr.ListRequest{Limit: maxBeside}) // also of machines that have answered
	return slices.DeleteFunc(page.Processes, func(other procmgr.Process) bool {
		return other.ID == p.ID || other.ChatID != p.ChatID || other.State == procmgr.Exited
	})
}

// Same returns the process of the same chat that runs the same command in the same
// directory, or none.
func Same(ctx context.Context, m procmgr.Manager, p procmgr.Process) (same procmgr.Process) {
	if p.Command == "" {
		return same
	}
	for _, other := range beside(ctx, m, p) {
		if other.Command == p.Command && other.WorkDir == p.WorkDir {
			same = other
		}
	}
	return same
}

var (
	addressInUse = regexp.MustCompile(`(?i)address already in use|EADDRINUSE|\bport \d+ is (already )?(in use|allocated)`)
	portInLine   = regexp.MustCompile(`(?i)(?::|\bport\W{1,3})(\d{2,5})\b`)
	number       = regexp.MustCompile(`\b\d{2,5}\b`)
)

// PortHolder says which process of the same chat has the port that p has failed to listen
// on, as its output tells. It is "" if there is none, or if that cannot be told.
func PortHolder(ctx context.Context, m procmgr.Manager, p procmgr.Process, output string) string {
	if p.State != procmgr.Exited || p.ExitCode != nil && *p.ExitCode == 0 || !addressInUse.MatchString(output) {
		return ""
	}
	wanted := number.FindAllString(p.Command, -1)
	for line := range strings.Lines(output) {
		if addressInUse.MatchString(line) {
			for _, found := range portInLine.FindAllStringSubmatch(line, -1) {
				wanted = append(wanted, found[1])
			}
		}
	}
	for _, other := range beside(ctx, m, p) {
		out, err := m.Output(ctx, other.ID, procmgr.OutputRequest{From: math.MaxInt64, Ports: true})
		if err != nil {
			continue
		}
		for _, l := range out.Listening {
			port := l.Addr[strings.LastIndexByte(l.Addr, ':')+1:]
			if _, err := strconv.Atoi(port); err == nil && slices.Contains(wanted, port) {
				return fmt.Sprintf("process %s (%s) of this chat listens on port %s", wording.Odd(other.ID), wording.Quote(other.Command, maxToldCommand), port)
			}
		}
	}
	return ""
}
