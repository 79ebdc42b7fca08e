//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly

package screen

import (
	"io"
	"strings"

	"github.com/hinshun/vt10x"
)

// vt is the emulator.
type vt struct{ t vt10x.Terminal }

func newVT(cols, rows int, replies io.Writer) emulator {
	return vt{vt10x.New(vt10x.WithSize(cols, rows), vt10x.WithWriter(replies))}
}

func (v vt) Write(p []byte) (int, error) { return v.t.Write(p) }

func (v vt) View() (rows []string, row, col int) {
	width, height := v.t.Size()
	rows = make([]string, height)
	var b strings.Builder
	for y := range rows {
		b.Reset()
		for x := range width {
			c := v.t.Cell(x, y).Char
			if c < ' ' || c == 0x7f {
				c = ' '
			}
			b.WriteRune(c)
		}
		rows[y] = b.String()
	}
	at := v.t.Cursor()
	return rows, at.Y, at.X
}
