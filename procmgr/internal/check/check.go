// Package check says why a request can never be carried out, for every
// implementation of a Manager in the same words. It has the keys of a terminal for
// the same reason.
package check

import (
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// maxID is the longest process ID in bytes.
const maxID = 64

// ID returns an error that says why an ID of a caller cannot be used, or nil.
func ID(id string) error { return Name("process ID", id) }

// Name does the same as ID for another name that a caller has chosen.
func Name(what, id string) error {
	if id == "" {
		return xerrors.Errorf("the %s is empty: %w", what, procmgr.ErrInvalid)
	}
	if len(id) > maxID {
		return xerrors.Errorf("the %s has %d bytes, at most %d are allowed: %w", what, len(id), maxID, procmgr.ErrInvalid)
	}
	for i := range len(id) {
		c := id[i]
		if !('a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-') {
			return xerrors.Errorf("the %s %.80q has a character other than A-Z a-z 0-9 _ -: %w", what, id, procmgr.ErrInvalid)
		}
	}
	return nil
}

// MaxChat is the longest ID of a chat in bytes.
const MaxChat = 256

// Chat returns an error that says why an ID of a chat cannot be used, or
// nil.
func Chat(id string) error {
	switch {
	case id == "":
		return xerrors.Errorf("the chat ID is empty: %w", procmgr.ErrInvalid)
	case len(id) > MaxChat:
		return xerrors.Errorf("the chat ID has %d bytes, at most %d are allowed: %w", len(id), MaxChat, procmgr.ErrInvalid)
	case !utf8.ValidString(id) || strings.ContainsFunc(id, unicode.IsControl):
		return xerrors.Errorf("the chat ID %.80q has a character that cannot be used: %w", id, procmgr.ErrInvalid)
	}
	return nil
}

// Start returns an error that says why a command can never be started, or nil.
func Start(req procmgr.StartRequest) error {
	if req.ID != "" {
		if err := ID(req.ID); err != nil {
			return err
		}
	}
	switch {
	case strings.TrimSpace(req.Command) == "":
		return xerrors.Errorf("the command is empty: %w", procmgr.ErrInvalid)
	case strings.ContainsRune(req.Command, 0):
		return xerrors.Errorf("the command has a NUL byte, which no argument can carry: %w", procmgr.ErrInvalid)
	case strings.ContainsRune(req.WorkDir, 0):
		return xerrors.Errorf("the working directory has a NUL byte: %w", procmgr.ErrInvalid)
	case req.MaxLifetime < 0:
		return xerrors.Errorf("the maximum lifetime %v is negative: %w", req.MaxLifetime, procmgr.ErrInvalid)
	case req.Stdin != procmgr.StdinEmpty && req.Stdin != procmgr.StdinPipe && req.Stdin != procmgr.StdinTerminal:
		return xerrors.Errorf("unknown stdin %.40q, use %q, %q or none: %w", string(req.Stdin), string(procmgr.StdinPipe), string(procmgr.StdinTerminal), procmgr.ErrInvalid)
	}
	for _, name := range slices.Sorted(maps.Keys(req.Env)) {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return xerrors.Errorf("%.80q cannot be the name of an environment variable: %w", name, procmgr.ErrInvalid)
		}
		if strings.ContainsRune(req.Env[name], 0) {
			return xerrors.Errorf("the environment variable %.80q has a NUL byte in its value: %w", name, procmgr.ErrInvalid)
		}
	}
	return nil
}

// Age returns the error of a start whose ID is unknown if the ID may have been used
// within the Age of the request, since not all earlier IDs are known that were used
// before a time. Otherwise it returns nil.
func Age(age time.Duration, whole time.Time) error {
	if age <= 0 || time.Since(whole) >= age {
		return nil
	}
	return xerrors.Errorf("nothing was started now, but the command may have run before the restart: the process manager does not remember IDs for that long: %w", procmgr.ErrUnknown)
}

// Older returns the Age of a request that is sent on some time after it came. It takes the
// longer time of two clocks: the monotonic one may stand still while the machine is
// suspended, and the wall clock may be set back.
func Older(age time.Duration, came time.Time) time.Duration {
	return Aged(age, max(time.Since(came), time.Since(came.Round(0))))
}

// Aged returns the Age of a request that was held for a time.
func Aged(age, held time.Duration) time.Duration {
	if age <= 0 {
		return 0
	}
	return age + min(max(held, 0).Truncate(time.Millisecond), math.MaxInt64-age)
}

// MaxInput is the largest Data of a request in bytes.
const MaxInput = 64 << 10

// Input returns an error that says why a request can never be carried out, or
// nil.
func Input(req procmgr.InputRequest) error {
	if req.IdempotencyKey != "" {
		if err := Name("key", req.IdempotencyKey); err != nil {
			return err
		}
	}
	if len(req.Data) > MaxInput {
		return xerrors.Errorf("the data has %d bytes, at most %d are allowed at a time: %w", len(req.Data), MaxInput, procmgr.ErrInvalid)
	}
	if len(req.Keys) > maxKeys {
		return xerrors.Errorf("there are %d keys, at most %d are allowed at a time: %w", len(req.Keys), maxKeys, procmgr.ErrInvalid)
	}
	for _, k := range req.Keys {
		if _, err := KeyBytes(k, false); err != nil {
			return err
		}
	}
	return nil
}

// Writes reports whether a request has anything to write.
func Writes(req procmgr.InputRequest) bool {
	return len(req.Data) > 0 || len(req.Keys) > 0 || req.Close
}

// maxKeys is how many keys a request may have.
const maxKeys = 1024

// keys have the bytes of each key, as the terminfo entry of screen-256color has
// them. A cursor key has other bytes if the program has asked for them.
var keys = map[procmgr.Key]string{
	"enter":     "\r",
	"tab":       "\t",
	"escape":    "\x1b",
	"space":     " ",
	"backspace": "\x7f",
	"delete":    "\x1b[3~",
	"insert":    "\x1b[2~",
	"up":        "\x1b[A",
	"down":      "\x1b[B",
	"right":     "\x1b[C",
	"left":      "\x1b[D",
	"home":      "\x1b[1~",
	"end":       "\x1b[4~",
	"page-up":   "\x1b[5~",
	"page-down": "\x1b[6~",
	"shift-tab": "\x1b[Z",

	"f1": "\x1bOP", "f2": "\x1bOQ", "f3": "\x1bOR", "f4": "\x1bOS",
	"f5": "\x1b[15~", "f6": "\x1b[17~", "f7": "\x1b[18~", "f8": "\x1b[19~",
	"f9": "\x1b[20~", "f10": "\x1b[21~", "f11": "\x1b[23~", "f12": "\x1b[24~",

	"ctrl-space":     "\x00",
	"ctrl-backslash": "\x1c",
	"ctrl-]":         "\x1d",
	"ctrl-^":         "\x1e",
	"ctrl-_":         "\x1f",
	"ctrl-left":      "\x1b[1;5D",
	"ctrl-right":     "\x1b[1;5C",
}

// KeyBytes returns the bytes of a key. application is set if the program has asked
// for the application's form of the cursor keys.
func KeyBytes(k procmgr.Key, application bool) (string, error) {
	if b, ok := keys[k]; ok {
		switch k {
		case "up", "down", "left", "right":
			if application {
				b = strings.Replace(b, "[", "O", 1)
			}
		}
		return b, nil
	}
	if rest, ok := strings.CutPrefix(string(k), "ctrl-"); ok && len(rest) == 1 && 'a' <= rest[0] && rest[0] <= 'z' {
		return string(rest[0] - 'a' + 1), nil
	}
	if rest, ok := strings.CutPrefix(string(k), "alt-"); ok {
		if len(rest) == 1 && rest[0] > ' ' && rest[0] <= '~' {
			return "\x1b" + rest, nil
		}
		if !strings.HasPrefix(rest, "alt-") {
			if b, err := KeyBytes(procmgr.Key(rest), application); err == nil {
				return "\x1b" + b, nil
			}
		}
	}
	return "", xerrors.Errorf("unknown key %s; the keys are %s: %w", strconv.Quote(clipKey(string(k))), strings.Join(procmgr.KeyNames(), ", "), procmgr.ErrInvalid)
}

// clipKey cuts what was sent for a key, for an error.
func clipKey(s string) string { return s[:min(len(s), 40)] }

// maxPaths is how many paths a field of the rules has, and maxPath how many bytes a path.
const (
	maxPaths = 64
	maxPath  = 4096
)

// Sandbox returns a copy of rules within their limits. nil stays nil.
func Sandbox(rules *procmgr.SandboxRules) *procmgr.SandboxRules {
	if rules == nil {
		return nil
	}
	return &procmgr.SandboxRules{
		Write:         paths(rules.Write),
		Protect:       paths(rules.Protect),
		Hide:          paths(rules.Hide),
		NoNetwork:     rules.NoNetwork,
		NoLoopback:    rules.NoLoopback,
		NoUnixSockets: rules.NoUnixSockets,
	}
}

func paths(all []string) []string {
	kept := slices.DeleteFunc(slices.Clone(all), func(path string) bool {
		return path == "" || len(path) > maxPath || !utf8.ValidString(path) || strings.ContainsFunc(path, unicode.IsControl)
	})
	return kept[:min(len(kept), maxPaths)]
}

// Signal returns an error if the signal is unknown.
func Signal(s procmgr.Signal) error {
	switch s {
	case procmgr.Terminate, procmgr.Interrupt, procmgr.Kill:
		return nil
	}
	return xerrors.Errorf("unknown signal %.40q, use terminate, interrupt or kill: %w", string(s), procmgr.ErrInvalid)
}

// Full returns the error for a limit of running processes. own are the IDs of the
// processes that run in the chat, "" for the host's own, the oldest first. limit is the
// limit of the chat, or 0 if the host's is reached, whose number no chat has to know.
func Full(chat string, own []string, limit int) error {
	const most = 5
	n, ids := len(own), strings.Join(own[:min(most, len(own))], ", ")
	oldest, runs := "the oldest are "+ids, strconv.Itoa(n)+" processes run"
	switch {
	case n > most:
		oldest += ", …"
	case n == 1:
		oldest, runs = "it is "+ids, "1 process runs"
	}
	switch {
	case limit > 0:
		return xerrors.Errorf("%s in this chat, and its limit is %d; end one of this chat's first (%s): %w", runs, limit, oldest, procmgr.ErrLimit)
	case n > 0 && chat != "":
		return xerrors.Errorf("this host runs as many processes as it may; %s in this chat: end one (%s), or try again when some have ended: %w", runs, oldest, procmgr.ErrLimit)
	}
	return xerrors.Errorf("this host runs as many processes as it may; try again when some have ended: %w", procmgr.ErrLimit)
}
