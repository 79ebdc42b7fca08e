package arguments

import (
	"encoding/json"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// KeyList are keys to press, by procmgr's names for them or by other usual
// ones. One key may come without the list.
type KeyList []procmgr.Key

func (ks *KeyList) decode(raw json.RawMessage) error {
	if raw[0] == '"' {
		raw = append(append(json.RawMessage("["), raw...), ']')
	}
	var names []Text
	if raw[0] != '[' {
		return xerrors.Errorf(`got %s, want a list of keys such as ["down","enter"]`, kind(raw))
	}
	var each []json.RawMessage
	if err := json.Unmarshal(raw, &each); err != nil {
		return xerrors.Errorf("not a valid list: %w", err)
	}
	for _, r := range each {
		var name Text
		if err := name.decode(r); err != nil {
			return xerrors.Errorf(`want a list of keys such as ["down","enter"]: %w`, err)
		}
		names = append(names, name)
	}
	for _, name := range names {
		if name != "" {
			*ks = append(*ks, keyOf(string(name)))
		}
	}
	return nil
}

// keyWords are other names of keys.
var keyWords = map[string]string{
	"return": "enter", "esc": "escape", "del": "delete", "ins": "insert", "bs": "backspace", "spacebar": "space",
	"pgup": "page-up", "pageup": "page-up", "pgdn": "page-down", "pgdown": "page-down", "pagedown": "page-down",
	"arrow-up": "up", "arrow-down": "down", "arrow-left": "left", "arrow-right": "right",
	"arrowup": "up", "arrowdown": "down", "arrowleft": "left", "arrowright": "right",
}

// keyOf returns the key that a model means. The case matters only for the
// character after alt-.
func keyOf(name string) procmgr.Key {
	if len(name) == 2 && name[0] == '^' {
		name = "ctrl-" + name[1:]
	}
	folded := strings.ToLower(strings.TrimSpace(name))
	for _, prefix := range []struct{ long, short string }{{"control", "ctrl"}, {"ctrl", "ctrl"}, {"c", "ctrl"}, {"meta", "alt"}, {"alt", "alt"}, {"m", "alt"}} {
		for _, sign := range []string{"-", "+"} {
			rest, ok := strings.CutPrefix(folded, prefix.long+sign)
			if !ok || rest == "" {
				continue
			}
			if prefix.short == "alt" && len(rest) == 1 {
				rest = name[len(name)-1:]
			} else {
				rest = string(keyOf(rest))
			}
			return procmgr.Key(prefix.short + "-" + rest)
		}
	}
	if known, ok := keyWords[folded]; ok {
		folded = known
	}
	if folded == "shift+tab" || folded == "backtab" {
		folded = "shift-tab"
	}
	return procmgr.Key(folded)
}

// StdinKind is the stdin of a command, by the model's name for it.
type StdinKind procmgr.Stdin

func (k *StdinKind) decode(raw json.RawMessage) error {
	value, _ := scalar(raw)
	switch strings.ToLower(value) {
	case "", "empty", "none", "closed":
	case "open", "pipe":
		*k = StdinKind(procmgr.StdinPipe)
	case "terminal", "tty", "pty":
		*k = StdinKind(procmgr.StdinTerminal)
	default:
		return xerrors.Errorf("got %s, want open or terminal", written(raw))
	}
	return nil
}
