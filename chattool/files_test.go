package chattool_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"
	"testing"

	"charm.land/fantasy"
	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool"
	"github.com/toolproc/toolproc/chattool/filetool"
)

func ExampleFiles() {
	files, err := filetool.NewLocal(nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range chattool.Files(filetool.New(files, nil)) {
		fmt.Println(tool.Info().Name)
	}
	// Output:
	// read_file
	// write_file
	// edit_files
}

// The tools for files work through fantasy, and nothing that goes wrong is an error
// of Go.
func TestFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	files, err := filetool.NewLocal(&filetool.LocalOptions{Root: dir})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, files.Close()) })
	tools := chattool.Files(filetool.New(files, nil))
	run := func(n int, input string) fantasy.ToolResponse {
		response, err := tools[n].Run(t.Context(), fantasy.ToolCall{ID: "1", Name: "any", Input: input})
		require.NoError(t, err)
		require.Empty(t, response.Metadata)
		return response
	}
	require.True(t, tools[0].Info().Parallel)
	require.False(t, tools[1].Info().Parallel)
	require.Equal(t, []string{"files"}, tools[2].Info().Required)
	require.False(t, run(1, `{"path":"a","content":"one\n"}`).IsError)
	require.Contains(t, run(0, `{"path":"a"}`).Content, `1\tone\n`)
	require.False(t, run(2, `{"files":[{"path":"a","edits":[{"search":"one","replace":"two"}]}]}`).IsError)
	require.True(t, run(0, `{"path":"b"}`).IsError)
	data, err := os.ReadFile(filepath.Join(dir, "a"))
	require.NoError(t, err)
	require.Equal(t, "two\n", string(data))
}
