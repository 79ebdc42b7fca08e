package plaintext_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the texts below testdata anew")

// TestRecordings cleans recordings of real tools on a terminal; see
// testdata/record.sh.
func TestRecordings(t *testing.T) {
	recordings, err := filepath.Glob("testdata/*.raw")
	require.NoError(t, err)
	require.NotEmpty(t, recordings)
	for _, recording := range recordings {
		name := strings.TrimSuffix(filepath.Base(recording), ".raw")
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(recording)
			require.NoError(t, err)
			text := clean(t, string(raw))
			golden := filepath.Join("testdata", name+".txt")
			if *update {
				require.NoError(t, os.WriteFile(golden, []byte(text), 0o644))
			}
			want, err := os.ReadFile(golden)
			require.NoError(t, err)
			require.Equal(t, string(want), text)
			checkText(t, string(raw))
		})
	}
}
