package scripts_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/procmgr/internal/scripts"
)

// tree makes a directory with a file for each name. Each file has its own name
// as its text.
func tree(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, name := range strings.Fields(`
		build.sh scripts/x.sh x.py server.js x.rb main.go env.sh other.mk sub/Makefile sub/y.sh
		makefile
	`) {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, []byte(name), 0o644))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"name":"x","scripts":{
		"predeploy": "echo pre", "deploy": "./build.sh $A", "postdeploy": "echo post",
		"test": "node server.js", "all": "npm run deploy", "loop": "npm run loop"
	}}`), 0o644))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "binary"), []byte("\x7fELF\x00\x01build.sh"), 0o755))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "directory"), 0o755))
	return dir
}

func TestTexts(t *testing.T) {
	dir := tree(t)
	for command, want := range map[string][]string{
		// A program by its path
		"./build.sh":                              {"build.sh"},
		"scripts/x.sh a b":                        {"scripts/x.sh"},
		filepath.ToSlash(dir) + "/build.sh":       {"build.sh"},
		"A=1 B=$C ./build.sh --x $D 2>&1":         {"build.sh"},
		"'./build.sh'":                            {"build.sh"},
		"./build.sh | tail -5":                    {"build.sh"},
		"./build.sh > log 2>&1 || exit 1":         {"build.sh"},
		"set -e; cd sub && ./y.sh":                {"sub/y.sh"},
		"cd sub; ../build.sh\n./y.sh":             {"build.sh", "sub/y.sh"},
		"exec ./build.sh":                         {"build.sh"},
		"time timeout 5m ./build.sh":              {"build.sh"},
		"env A=1 nohup ./build.sh &":              {"build.sh"},
		"export A=1 && ./build.sh && echo done":   {"build.sh"},
		"./build.sh; ./build.sh; ./build.sh; x/y": {"build.sh", "build.sh", "build.sh"},
		"build.sh":                        nil,
		"true || ./build.sh":              nil,
		"./$A.sh":                         nil,
		"$A ./build.sh":                   nil,
		"cd $A && ./build.sh":             nil,
		"cd && ./build.sh":                nil,
		"cd - && ./build.sh":              nil,
		"cd sub | ./y.sh":                 nil,
		"cd sub & ./y.sh":                 nil,
		"pushd sub && ./y.sh":             nil,
		"if true; then ./build.sh; fi":    nil,
		"for i in 1; do ./build.sh; done": nil,
		"! ./build.sh":                    nil,
		"f() { ./build.sh; }; f":          nil,
		"x $(y); ./build.sh":              nil,
		"echo ./build.sh":                 nil,
		"cat build.sh":                    nil,
		"./missing.sh":                    nil,
		"./directory":                     nil,
		"./binary":                        nil,
		"":                                nil,
		";":                               nil,

		// Shells
		"bash build.sh":                       {"build.sh"},
		"/bin/sh -eu ./build.sh":              {"build.sh"},
		"bash -euo pipefail build.sh a":       {"build.sh"},
		"bash --norc -- build.sh":             {"build.sh"},
		"source env.sh && echo $A":            {"env.sh"},
		". ./env.sh":                          {"env.sh"},
		"bash -c build.sh":                    nil,
		"bash -ec build.sh":                   nil,
		"bash -s build.sh":                    nil,
		"bash --rcfile env.sh build.sh":       nil,
		"bash":                                nil,
		"bash $A build.sh":                    nil,
		"sh < build.sh":                       nil,
		"bash -o":                             nil,
		"python3 -c 'import x' build.sh":      nil,
		"python -m build.sh":                  nil,
		"node -e 1 server.js":                 nil,
		"node --eval 1 server.js":             nil,
		"perl -ne 1 build.sh":                 nil,
		"python3 -u x.py --token":             {"x.py"},
		"python3.12 x.py":                     {"x.py"},
		"./directory/python x.py":             {"x.py"},
		"node --enable-source-maps server.js": {"server.js"},
		"ruby -w x.rb":                        {"x.rb"},
		"go run main.go":                      {"main.go"},
		"go run .":                            nil,
		"go build main.go":                    nil,

		// Makefiles
		"make":                     {"makefile"},
		"make -j 8 deploy":         {"makefile"},
		"make -f other.mk":         {"other.mk"},
		"make --file=other.mk x":   {"other.mk"},
		"make -C sub":              {"sub/Makefile"},
		"make -Csub -k":            {"sub/Makefile"},
		"make --directory sub all": {"sub/Makefile"},
		"make -f":                  nil,
		"make -C $A":               nil,
		"make -C missing":          nil,

		// Scripts of a package
		"npm run deploy":             {"echo pre", "./build.sh $A", "build.sh", "echo post"},
		"npm run-script deploy -- x": {"echo pre", "./build.sh $A", "build.sh", "echo post"},
		"npm run --silent deploy":    {"echo pre", "./build.sh $A", "build.sh", "echo post"},
		"yarn test":                  {"node server.js", "server.js"},
		"npm t":                      {"node server.js", "server.js"},
		"npm run all":                {"npm run deploy", "echo pre", "./build.sh $A", "build.sh", "echo post"},
		"npm run loop":               {"npm run loop", "npm run loop"},
		"npm ci":                     nil,
		"npm run":                    nil,
		"npm --prefix sub run test":  nil,
		"npm run $A":                 nil,
		"cd sub && npm test":         nil,
		"npx test":                   nil,
	} {
		t.Run(command, func(t *testing.T) {
			got := scripts.Texts(scripts.Of(command), dir)
			require.Equal(t, want, got)
		})
	}
}

// A large file costs no more than a small one, and many cost no more than a few.
func TestTextsAreBounded(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "x.sh")
	require.NoError(t, os.WriteFile(name, []byte(strings.Repeat("x", 1<<20)), 0o644))
	texts := scripts.Texts(scripts.Of(strings.Repeat("./x.sh;", 100)), dir)
	require.Len(t, texts, 4)
	for _, text := range texts {
		require.Len(t, text, 256<<10)
	}
}
