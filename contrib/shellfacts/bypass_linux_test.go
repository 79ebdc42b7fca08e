package shellfacts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/contrib/shellfacts"
)

// workspace makes the files that the commands of the tables need, as a model may have
// written them.
func workspace(t testing.TB) func(dir string) {
	return func(dir string) {
		for name, text := range map[string]string{
			"f":                "x\ny\nz\n",
			"g":                "y\n",
			"big":              strings.Repeat("some line of text\n", 1000),
			"x.sh":             "#!/bin/sh\ntouch PWNED\ncat\n",
			"ls":               "#!/bin/sh\ntouch PWNED\n",
			"x.js":             "require('fs').writeFileSync('PWNED','')\n",
			"x.py":             "open('PWNED','w')\n",
			"Makefile":         "all:\n\ttouch PWNED\n",
			"package.json":     `{"name":"x","scripts":{"x":"touch PWNED"}}`,
			"sub/file":         "x\n",
			"-oPWNED":          "x\n",
			"sub/x.sh":         "#!/bin/sh\ntouch PWNED\n",
			"script.sed":       "w PWNED\n",
			"script.awk":       `BEGIN { system("touch PWNED") }`,
			"names":            "f\ng\n",
			"sub/dir/deep.txt": "x\n",
		} {
			name = filepath.Join(dir, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
			require.NoError(t, os.WriteFile(name, []byte(text), 0o755))
		}
	}
}

// unsafe are rows that would reach beyond their directory.
func unsafe(command string) bool {
	for _, word := range []string{"kill -9 $PPID", "| at now", "/dev/tcp", "ssh -o", "ssh://h/r"} {
		if strings.Contains(command, word) {
			return true
		}
	}
	return false
}

// TestHeldBypasses runs each command of the tables, and compares.
func TestHeldBypasses(t *testing.T) {
	held(t)
	t.Parallel()
	all := append(commands(t, "shell-bypasses.tsv"), commands(t, "attacks.tsv")...)
	require.NotZero(t, attack(t, func(i int) (string, bool) {
		if i >= len(all) {
			return "", false
		}
		return all[i], true
	}))
}

// The comparison itself finds what facts do not tell.
func TestOracle(t *testing.T) {
	t.Parallel()
	o := newOracle(t, "bash")
	complete := func(known, files bool) shellfacts.Facts {
		return shellfacts.Facts{Complete: true, Programs: []shellfacts.Program{{Name: "env", Known: known, Files: files}}}
	}
	deeds := o.deeds(t, "env touch PWNED; echo x > g", workspace(t))
	require.Contains(t, o.unknown(complete(true, false), deeds), "ran bash > env > touch")
	require.Contains(t, o.unknown(complete(true, true), deeds), "bash wrote")
	require.Empty(t, o.unknown(shellfacts.Facts{}, deeds))
	facts := complete(false, false)
	facts.Writes = []shellfacts.Path{{Name: "g", Path: "g", Literal: true}}
	require.Empty(t, o.unknown(facts, deeds), "a program that is not known excuses what it starts")
	facts.Programs[0].Known = true
	require.NotEmpty(t, o.unknown(facts, deeds))
}
