// Package baseenv has what a command starts from: the environment and the
// directory of the program that starts it. If a keeper runs the command for that
// program, they travel beside the request.
package baseenv

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
)

// A Base is what another program's commands start from. It does not change.
type Base struct {
	Env      []string       // NAME=value, what the policy let through
	Withheld []string       // the names of what the policy kept back
	Secrets  []redact.Value // what to mask in output
	Dir      string         // the program's current directory; "" if that has gone
	// Sum is that of Env, Withheld and Secrets if it may travel in their place; "" if
	// they always travel themselves.
	Sum string
}

// Digest returns a name for an environment and its secrets, which no other one has:
// their SHA-256 in hexadecimal digits.
func (b *Base) Digest() string {
	h := sha256.New()
	var size []byte
	secrets := make([]string, 0, 2*len(b.Secrets))
	for _, v := range b.Secrets {
		secrets = append(secrets, v.Name, v.Value)
	}
	for _, list := range [...][]string{b.Env, b.Withheld, secrets} {
		// With the lengths, other strings are other bytes.
		size = binary.AppendUvarint(size[:0], uint64(len(list)))
		_, _ = h.Write(size) // it never fails
		for _, s := range list {
			size = binary.AppendUvarint(size[:0], uint64(len(s)))
			_, _ = h.Write(size)
			_, _ = io.WriteString(h, s)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}

// UTF8 returns the Base without the variables that are not UTF-8, because JSON
// cannot carry them. They count as withheld.
func (b *Base) UTF8() *Base {
	if !slices.ContainsFunc(b.Env, notUTF8) {
		return b
	}
	text := &Base{Withheld: slices.Clone(b.Withheld), Secrets: b.Secrets, Dir: b.Dir} // its Sum would be another one
	for _, kv := range b.Env {
		if !notUTF8(kv) {
			text.Env = append(text.Env, kv)
		} else if name, _, _ := strings.Cut(kv, "="); !notUTF8(name) {
			text.Withheld = append(text.Withheld, name)
		}
	}
	return text
}

func notUTF8(s string) bool { return !utf8.ValidString(s) }

// A Host runs commands for other programs, too. A wrapper of a Host is none: a keeper
// gives its own.
type Host interface {
	procmgr.Host
	// From returns the Host for a program with that Base.
	From(b *Base) procmgr.Host
}
