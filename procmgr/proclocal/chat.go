package proclocal

import (
	"cmp"
	"context"
	"log/slog"
	"math"

	"github.com/toolproc/toolproc/envpolicy"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/baseenv"
	"github.com/toolproc/toolproc/procmgr/internal/check"
)

// ChatOptions are the options in which the commands of one chat differ: see
// [Options.PerChat]. The zero value of a field is the value of the Options.
type ChatOptions struct {
	// Env takes the place of Options.Env, also for the values to mask.
	Env *envpolicy.Policy
	// WorkDir takes the place of Options.WorkDir.
	WorkDir string
	// Sandbox takes the place of Options.Sandbox. It stays the caller's, who keeps one
	// for each chat until its processes have ended.
	Sandbox Sandbox
	// MaxRunning takes the place of Options.MaxRunningPerChat. All chats together still
	// share Options.MaxRunning (1,024 by default).
	MaxRunning int
}

// rules returns the rules for the commands that a view starts. They are nil for none, and
// if they are unknown.
func (v view) rules(ctx context.Context) *procmgr.SandboxRules {
	l := v.l
	box := l.opts.Sandbox
	if l.opts.PerChat != nil {
		if v.chat == "" {
			return nil // they may differ between chats
		}
		chat, err := baseenv.PerChat(ctx, l.opts.PerChat, v.chat, func(level slog.Level, msg string, attrs ...slog.Attr) {
			l.opts.Logger.LogAttrs(ctx, level, msg, append(attrs, slog.String("chat_id", v.chat))...)
		})
		if err != nil {
			return nil
		}
		box = cmp.Or(chat.Sandbox, box)
	}
	if box == nil {
		return nil
	}
	rules := box.Rules()
	return check.Sandbox(&rules)
}

// A setup is what one command runs with.
type setup struct {
	env     *baseenv.Environment
	workDir string
	sandbox Sandbox // nil for none
}

// chatSetup returns what the command of a record runs with, by the Options and by
// PerChat. If the record has an origin, another program has applied the policy to its own
// environment.
func (l *Local) chatSetup(ctx context.Context, r *record) (own setup, err error) {
	chat, err := baseenv.PerChat(ctx, l.opts.PerChat, r.chat, r.log)
	if err == nil && l.opts.PerChat != nil {
		err = l.chatRoom(r, bound(chat.MaxRunning, l.opts.MaxRunningPerChat, math.MaxInt))
	}
	if err != nil {
		return own, err
	}
	own.sandbox = cmp.Or(chat.Sandbox, l.opts.Sandbox)
	own.env = l.policy.Apply(chat.Env, r.terminal)
	if from := r.origin; from != nil { // only All is this program's
		own.env = &baseenv.Environment{All: own.env.All, Env: from.Env, Withheld: from.Withheld, Secrets: from.Secrets}
		own.workDir = from.WorkDir
		return own, nil
	}
	own.env = own.env.Update(l.opts.UpdateEnv, r.chat, r.log)
	own.workDir, err = baseenv.WorkDir(cmp.Or(chat.WorkDir, l.opts.WorkDir))
	return own, err
}
