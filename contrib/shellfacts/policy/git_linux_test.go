package policy_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/shellfacts/policy"

	"context"
)

func TestMain(m *testing.M) {
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "GIT_") {
			_ = os.Unsetenv(name)
		}
	}
	os.Exit(m.Run())
}

// asks reports whether a person is asked about a command in a directory.
func asks(t testing.TB, list func(*policy.AllowList), dir, command string) bool {
	t.Helper()
	asked := false
	l := policy.NewAllowList(policy.ReadOnly(), func(context.Context, string, bool) (policy.Answer, error) {
		asked = true
		return policy.No, nil
	})
	if list != nil {
		list(l)
	}
	verdict, err := l.Approve(t.Context(), toolset.Question{Command: command, WorkDir: dir, Shell: "bash"})
	require.NoError(t, err)
	require.Equal(t, asked, verdict.Deny)
	return asked
}

// sh runs a script in a directory, with an own home.
func sh(t testing.TB, dir, script string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "bash", "-c", script)
	cmd.Dir = dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "PWD=" + dir, "GIT_CONFIG_NOSYSTEM=1"}
	out, err := cmd.CombinedOutput()
	t.Logf("%s: %v\n%s", script, err, out)
	return string(out)
}

// repository makes one with a commit, a change and some directories.
func repository(t testing.TB) string {
	t.Helper()
	for _, program := range []string{"git", "bash"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(err)
		}
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	require.NoError(t, err)
	sh(t, dir, `git init -q -b main . && git config user.name a && git config user.email a@example.com && mkdir sub src backend frontend server &&
		echo a > f && echo '*.x diff=x filter=x' > .gitattributes && echo b > a.x && git add . && git commit -qm one && echo c >> f && echo c >> a.x && mkdir plain`)
	return dir
}

// reads are calls of git that read.
var reads = []string{
	"git status", "git status --short", "git -C sub status", "cd sub && git status -sb", "git --no-pager log --oneline -5", "git diff", "git diff --stat HEAD", "git diff -- f", "git log -p -1",
	"git log --oneline --graph --all | head", "git show HEAD --stat", "git show HEAD:f", "git branch -a", "git branch --show-current", "git rev-parse --abbrev-ref HEAD", "git rev-parse --show-toplevel",
	"git blame -L 1,1 f", "git grep -n a", "git grep -E 'a|b'", "git diff @", "git ls-files | head", "git stash list", "timeout 5 git diff --cached", "git log --format='%h %s' --since='2 days ago'", "git diff --name-only HEAD", "cd plain && git status; git log",
}

func TestGitReads(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	for _, command := range reads {
		require.False(t, asks(t, nil, dir, command), command)
		require.True(t, asks(t, nil, "", command), command)
		require.True(t, asks(t, func(l *policy.AllowList) { l.Remote = true }, dir, command), command)
		require.False(t, asks(t, func(l *policy.AllowList) { l.WorkDir = dir }, "", command), command)
	}
	require.False(t, asks(t, func(l *policy.AllowList) { l.WorkDir = dir }, "sub", "git status"))
	require.False(t, asks(t, nil, t.TempDir(), "git status"), "there is no repository")
	for _, command := range []string{
		"git branch x", "git branch -D main", "git branch -", "git stash", "git stash pop", "git stash list --output=x", "git diff --output=x", "git diff --outp=x", "git log --author -- --output=x", "git diff --ext-diff", "git log -p --ext-diff",
		"git show --textconv HEAD:a.x", "git -c core.fsmonitor=x status", "git --exec-path=. status", "git -p log", "git log --show-signature", "git log --format=%G?", "git log '--pretty=%h %GS'", "git log --format='%+G?'", "git show '--format=% GK'", "git log --format='%h%-G?'", "git grep -O a", "git grep -nOless a",
		"git grep --open-files-in-pager=less a", "git checkout main", "git commit", "git fetch", "git push", "git config x.y z", "git tag x", "git remote add x y", "git", "git foo", "git log \"$x\"", "echo status | xargs git", "git *",
		"find sub -maxdepth 0 -execdir git status \\;", "env -C sub git status", "env git status", "/usr/bin/git status", "./git status", "git --git-dir=x status", "git --work-tree=x status", "git status; make", "git diff --no-index a b", "cd sub && (cd ../sub && git diff)", "git branch --sort=signature:key", "git branch --format='%(signature)'", "git ls-files --recurse-submodules", "git diff --submodule=log", "git log --textconv", "git blame --contents=x f", "git rev-parse --parseopt",
	} {
		require.True(t, asks(t, nil, dir, command), command)
	}
}

// A variable may have git read another repository.
func TestGitVariables(t *testing.T) {
	dir := repository(t)
	t.Setenv("GIT_AUTHOR_NAME", "a")
	t.Setenv("GIT_SSL_CAINFO", "/etc/ca")
	require.False(t, asks(t, nil, dir, "git status"))
	t.Setenv("GIT_DIR", "/elsewhere")
	require.True(t, asks(t, nil, dir, "git status"))
}

// Where the repository says what runs, a person is asked. Each row is tried with the
// real git: what it does run without a question fails the test.
func TestGitRepositories(t *testing.T) {
	t.Parallel()
	const hook = "printf '#!/bin/sh\\ntouch PWNED; touch ../PWNED\\n'"
	for name, prepare := range map[string]string{
		"fsmonitor":           "git config core.fsmonitor 'touch PWNED;:'",
		"capitals":            "printf '[CORE]\\n\\tFsMonitor = touch PWNED\\n' >> .git/config",
		"one line":            "printf '[core] fsmonitor = touch PWNED\\n' >> .git/config",
		"continued":           "printf '[user]\\n\\tname = a\\\\\\n\\n[core]\\n fsmonitor = touch PWNED\\n' >> .git/config",
		"include":             "printf '[core]\\n fsmonitor = touch PWNED\\n' > evil; git config include.path ../evil",
		"external diff":       "git config diff.external 'touch PWNED;:'",
		"driver":              "git config diff.x.command 'touch PWNED;:'",
		"textconv":            "git config diff.x.textconv 'touch PWNED;:'",
		"filter":              "git config filter.x.clean 'touch PWNED;cat'",
		"pager":               "git config core.pager 'touch PWNED;cat'",
		"hooks path":          "git config core.hooksPath evil; mkdir evil; " + hook + " > evil/post-index-change; chmod +x evil/*",
		"hook":                hook + " > .git/hooks/post-index-change; chmod +x .git/hooks/post-index-change; touch f",
		"hook by a link":      hook + " > evil; chmod +x evil; ln -s ../../evil .git/hooks/post-index-change; touch f",
		"worktree":            "git config core.worktree /tmp",
		"extension":           "git config core.repositoryformatversion 1; git config extensions.worktreeConfig true; git config --worktree core.fsmonitor 'touch PWNED;:'",
		"common directory":    "mkdir evil; cp -r .git evil/; git config -f evil/.git/config core.fsmonitor 'touch PWNED;:'; echo ../evil/.git > .git/commondir",
		"a file":              "mv .git evil; echo 'gitdir: evil' > .git; git config core.fsmonitor 'touch PWNED;:'",
		"a link":              "mv .git evil; ln -s evil .git; git config core.fsmonitor 'touch PWNED;:'",
		"bare":                "cp -r .git/* .; rm -rf .git; git config -f config core.bare false; git config -f config core.worktree .; git config -f config core.fsmonitor 'touch PWNED;:'",
		"broken below evil":   "git config core.fsmonitor 'touch PWNED;:'; mkdir sub/.git",
		"headless below evil": "git config core.fsmonitor 'touch PWNED;:'; git init -q sub; echo > sub/.git/HEAD",
		"alias":               "git config alias.status '!touch PWNED'",
		"signature":           "git config log.showSignature true; git config gpg.program ./evil; printf '#!/bin/sh\\ntouch PWNED\\n' > evil; chmod +x evil",
		"submodule": "git init -q evil; (cd evil; git config user.name a; git config user.email a@b; echo a > x; git add x; git commit -qm x; git config core.fsmonitor 'touch ../PWNED;:'; echo b >> x); " +
			"git add evil; rm -rf PWNED",
		"submodule of a split index": "git init -q evil; (cd evil; git config user.name a; git config user.email a@b; echo a > x; git add x; git commit -qm x; git config core.fsmonitor 'touch ../PWNED;:'; echo b >> x); " +
			"git add evil; git update-index --split-index; rm -rf PWNED",
		"behind a link": "mkdir sub/deep; ln -s sub/deep link; git init -q sub/other; git -C sub/other config core.fsmonitor 'touch ../PWNED;:'",
		"nothing":       "true",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := repository(t)
			sh(t, dir, prepare)
			asked := 0
			for _, command := range []string{"git status", "cd sub && git status", "git -C sub status", "git diff", "git diff HEAD", "git log -p --stat", "git show", "git blame f", "git ls-files -m", "git stash list", "git grep a", "cd link/../other && git status"} {
				_ = os.Remove(filepath.Join(dir, "PWNED"))
				_ = os.Remove(filepath.Join(dir, "sub", "PWNED"))
				if asks(t, nil, dir, command) {
					asked++
					continue
				}
				sh(t, dir, "touch f; "+command)
				require.NoFileExists(t, filepath.Join(dir, "PWNED"), command)
				require.NoFileExists(t, filepath.Join(dir, "sub", "PWNED"), command)
			}
			require.Equal(t, name == "nothing", asked == 0)
		})
	}
}

// So many everyday commands run without a question.
func TestEveryday(t *testing.T) {
	t.Parallel()
	dir := repository(t)
	text, err := os.ReadFile("../testdata/everyday.tsv")
	require.NoError(t, err)
	free := 0
	for line := range strings.Lines(string(text)) {
		var command string
		if json.Unmarshal([]byte(line), &command) != nil {
			continue
		}
		if asks(t, nil, dir, command) {
			t.Logf("asked: %s", command)
		} else {
			free++
		}
	}
	t.Logf("%d run without a question", free)
	require.GreaterOrEqual(t, free, 100, "of 225")
}
