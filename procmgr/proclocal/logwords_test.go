package proclocal_test

import (
	"bytes"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

// A log line has the words of an error and nothing else. xerrors can show
// source paths, and slog's handlers differ in how they show an error.
func TestLogHasNoSourcePaths(t *testing.T) {
	for name, handler := range map[string]func(io.Writer) slog.Handler{
		"text": func(w io.Writer) slog.Handler {
			return slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})
		},
		"json": func(w io.Writer) slog.Handler {
			return slog.NewJSONHandler(w, &slog.HandlerOptions{Level: slog.LevelDebug})
		},
	} {
		t.Run(name, func(t *testing.T) {
			var log bytes.Buffer
			logger := slog.New(handler(&log))
			failure := func() error { return xerrors.Errorf("the vault said: %w", xerrors.New("sealed")) }
			gone := filepath.Join(t.TempDir(), "gone")

			l, err := proclocal.New(&proclocal.Options{
				Logger:    logger,
				UpdateEnv: func([]string) ([]string, error) { return nil, failure() },
				OnStart:   func(procmgr.Process) { panic(failure()) },
				OnExit:    func(procmgr.Process) { panic(failure()) },
			})
			require.NoError(t, err)
			defer func() { require.NoError(t, l.Close()) }()
			run(t, l, "echo fine")
			_, err = l.Chat("a").Start(t.Context(), procmgr.StartRequest{Command: "true", WorkDir: gone})
			require.ErrorIs(t, err, procmgr.ErrInvalid)
			require.NoError(t, l.Close())
			_, err = l.Start(t.Context(), procmgr.StartRequest{Command: "true"})
			require.ErrorIs(t, err, procmgr.ErrClosed)

			panics, err := proclocal.New(&proclocal.Options{
				Logger:    logger,
				UpdateEnv: func([]string) ([]string, error) { panic(failure()) },
				WorkDir:   func() string { panic(failure()) },
				Shell:     []string{filepath.Join(gone, "shell"), "-c"},
			})
			require.NoError(t, err)
			_, err = panics.Start(t.Context(), procmgr.StartRequest{Command: "true"})
			require.ErrorIs(t, err, procmgr.ErrInvalid)
			require.NoError(t, panics.Close())

			require.Contains(t, log.String(), "the vault said: sealed")
			require.Contains(t, log.String(), "process not started")
			require.Contains(t, log.String(), "no such directory: ")
			require.Contains(t, log.String(), "hook panicked")
			requireNoSource(t, log.String())
		})
	}
}

// requireNoSource fails if a text names a source file of this program.
func requireNoSource(t *testing.T, text string) {
	t.Helper()
	require.NotContains(t, text, ".go:")
	dir, err := os.Getwd()
	require.NoError(t, err)
	require.NotContains(t, text, dir)
}
