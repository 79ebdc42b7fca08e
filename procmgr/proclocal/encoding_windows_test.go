package proclocal_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/charset"
)

// Output that is not UTF-8 is decoded from the code page of the console, or from UTF-16,
// before everything else sees it.
func TestEncodingOfTheSystem(t *testing.T) {
	const command = `printf 'Gr\224\341e\n'; printf 'Größe\n'; printf 'D\000r\000\374\000\n\000'`
	want, utf16 := "Gr\ufffd\ufffde\n", "Größe\nDrü\n"
	if console := charset.System(); console != nil {
		decoded, err := console.NewDecoder().String("Gr\x94\xe1e\n")
		require.NoError(t, err)
		want = decoded
	}
	require.Equal(t, want+utf16, run(t, newLocal(t, nil), command).Text)
}
