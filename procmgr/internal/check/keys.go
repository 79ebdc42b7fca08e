package check

import (
	"strconv"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

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
