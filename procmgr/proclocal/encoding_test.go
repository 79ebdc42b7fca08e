package proclocal_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/charmap"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/internal/charset"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// Output that is not UTF-8 is decoded before everything else sees it: a match, a log
// and a mask are of the text.
func TestEncoding(t *testing.T) {
	const command = `printf 'Gr\224\341e\n'; printf 'Größe\n'; printf 'D\000r\000\374\000\n\000'`
	l := newLocal(t, &proclocal.Options{
		Encoding: charmap.CodePage850,
		LogDir:   t.TempDir(),
		Redact:   []proclocal.Secret{{Name: "KEY", Value: "geheimer-schlüssel"}},
	})
	out := run(t, l, command)
	require.Equal(t, "Größe\nGröße\nDrü\n", out.Text)
	require.EqualValues(t, len(out.Text), out.Next, "offsets count the text")

	out = run(t, l, `printf 'geheimer-schl\201ssel\n'`)
	require.Equal(t, "[withheld: KEY]\n", out.Text)

	out, err := l.Start(t.Context(), procmgr.StartRequest{Command: `printf 'T\201r zu\n'; sleep 1000`})
	require.NoError(t, err)
	out, err = l.Output(t.Context(), out.Process.ID, procmgr.OutputRequest{Until: "^Tür", Wait: long})
	require.NoError(t, err)
	require.True(t, out.Matched)
	require.Equal(t, "Tür zu", out.MatchedLine)

	raw := run(t, newLocal(t, &proclocal.Options{Encoding: charmap.CodePage850, RawOutput: true}), command)
	require.Contains(t, raw.Text, "Gr\ufffd\ufffde\nGröße\n")
}

// By default that is the code page of the system's console, if it has one.
func TestEncodingOfTheSystem(t *testing.T) {
	want := "Gr\ufffd\ufffde\n"
	if console, _ := charset.System(); console != nil {
		decoded, err := console.NewDecoder().String("Gr\x94\xe1e\n")
		require.NoError(t, err)
		want = decoded
	}
	require.Equal(t, want, run(t, newLocal(t, nil), `printf 'Gr\224\341e\n'`).Text)
}
