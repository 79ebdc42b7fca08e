package policy

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/shellfacts"
)

// gitOptions has the commands of git that read, with the options that may stand anywhere
// behind them. None of them runs or writes anything, whatever the other words are. Not
// there are --output, --textconv, --ext-diff, --show-signature and --open-files-in-pager.
var gitOptions = map[string]func() *regexp.Regexp{
	"status": options(`[sbz]+|u(?:no|normal|all)?`, `short|branch|long|show-stash|ahead-behind|no-ahead-behind|renames|no-renames|ignored|porcelain|untracked-files`),
	"diff":   options(diffShort, diffLong),
	"log":    options(diffShort, diffLong+"|"+logLong),
	"show":   options(diffShort, diffLong+"|"+logLong),
	"branch": options(`[arv]+`, `all|remotes|list|show-current|verbose|no-color|merged|no-merged`),
	"rev-parse": options(`q`, `abbrev-ref|short|verify|quiet|symbolic|symbolic-full-name|show-toplevel|show-prefix|show-cdup|git-dir|git-common-dir|`+
		`absolute-git-dir|is-inside-work-tree|is-inside-git-dir|is-bare-repository|all|branches|tags|remotes`),
	"blame": options(`[wMCslteb]|L.*`, `porcelain|line-porcelain|date|show-name|show-number|show-email|root|abbrev|since`),
	"grep": options(`[niIlLwWvqochHEFPGpze]+|[ABCm]?[0-9]*`, `line-number|ignore-case|files-with-matches|name-only|word-regexp|count|heading|break|show-function|`+
		`extended-regexp|fixed-strings|perl-regexp|basic-regexp|invert-match|quiet|and|or|not|all-match|cached|untracked|exclude-standard|no-color|color|max-depth|max-count|column|only-matching`),
	"ls-files": options(`[cdmosuktvz]+`, `cached|deleted|modified|others|stage|unmerged|killed|exclude-standard|directory|full-name|error-unmatch|eol|abbrev|deduplicate|ignored|exclude`),
	"stash":    options(`z`, `oneline`),
}

const (
	diffShort = `[abpqsuwzBCDEFMPRWgimrt]|[0-9]+|[nGLSUl].*`
	diffLong  = `stat|numstat|shortstat|dirstat|summary|compact-summary|patch|no-patch|patch-with-stat|raw|name-only|name-status|cached|staged|color|no-color|word-diff|` +
		`color-words|minimal|patience|histogram|ignore-all-space|ignore-space-change|ignore-space-at-eol|ignore-blank-lines|check|full-index|binary|abbrev|find-renames|` +
		`find-copies|no-renames|no-prefix|exit-code|quiet|text|function-context|unified|diff-filter|diff-algorithm|inter-hunk-context|merge-base|no-ext-diff|no-textconv|relative`
	logLong = `oneline|graph|all|branches|tags|remotes|decorate|no-decorate|pretty|format|abbrev-commit|no-abbrev-commit|since|after|until|before|author|committer|grep|invert-grep|` +
		`all-match|regexp-ignore-case|max-count|skip|follow|no-merges|merges|first-parent|date|date-order|topo-order|author-date-order|left-right|cherry-pick|cherry-mark|` +
		`no-walk|source|parents|children|boundary|simplify-by-decoration|full-history|ancestry-path|walk-reflogs|no-notes|pickaxe-regex|pickaxe-all|reverse`
)

func options(short, long string) func() *regexp.Regexp {
	return pattern(`^(?:-|--|-(?:` + short + `)|--(?:` + long + `)(?:=.*)?)$`)
}

// pattern compiles a regular expression when it is first needed.
func pattern(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}

// verifies matches formats that have git run a program to verify a signature.
var verifies = pattern(`%[ +-]?G`)

// gitVariables matches variables that git's reads do not look at.
var gitVariables = pattern(`^GIT_(?:(?:AUTHOR|COMMITTER)_(?:NAME|EMAIL|DATE)|SSL_CA(?:INFO|PATH)|TERMINAL_PROMPT|ASKPASS|EDITOR)=`)

// gitReads reports whether a program is git and reads a repository, by its arguments and
// by what the repository says.
func (l *AllowList) gitReads(p shellfacts.Program, q toolset.Question, facts shellfacts.Facts) bool {
	args := p.Args
	inside := []string{}
	for len(args) > 1 && (args[0] == "--no-pager" || args[0] == "-C") {
		if args[0] == "-C" {
			inside, args = append(inside, args[1]), args[1:]
		}
		args = args[1:]
	}
	// Each word that may be an option has to be allowed, also where it may be the value of
	// another one, and behind a --, which may be such a value too.
	unread := func(arg string) bool {
		options := gitOptions[args[0]]
		return options == nil || strings.HasPrefix(arg, "-") && !options().MatchString(arg) || verifies().MatchString(arg)
	}
	switch {
	case !p.Literal || l.Remote || len(args) == 0 || slices.ContainsFunc(args, unread),
		args[0] == "branch" && slices.ContainsFunc(args[1:], func(arg string) bool { return strings.Trim(arg, "-") == "" || arg[0] != '-' }), // it makes one
		args[0] == "stash" && (len(args) < 2 || args[1] != "list"),
		slices.ContainsFunc(p.Through, func(name string) bool { return name != "timeout" && name != "time" }), // it may be in another directory
		slices.ContainsFunc(os.Environ(), func(v string) bool {
			return strings.HasPrefix(strings.ToUpper(v), "GIT_") && !gitVariables().MatchString(v)
		}):
		return false
	}
	dirs := l.directories(q, facts)
	return len(dirs) > 0 && !slices.ContainsFunc(dirs, func(dir string) bool {
		for _, below := range inside {
			if dir += "/" + below; filepath.IsAbs(below) {
				dir = below
			}
		}
		return !calmRepository(dir)
	})
}

// directories returns those in which a part of a command may run: where it starts, and
// where its one cd leads. It returns none if that is not known.
func (l *AllowList) directories(q toolset.Question, facts shellfacts.Facts) []string {
	dir := q.WorkDir
	if !filepath.IsAbs(dir) && l.WorkDir != "" {
		dir = filepath.Join(l.WorkDir, dir)
	}
	dirs := []string{dir}
	for _, p := range facts.Programs {
		if p.Name != "cd" {
			continue
		}
		to := p.Args[0]
		if !filepath.IsAbs(to) {
			to = dir + "/" + to
		}
		dirs = append(dirs, to, filepath.Clean(to)) // the shell cleans it, or goes where links lead
	}
	if !filepath.IsAbs(dir) || len(dirs) > 3 {
		return nil
	}
	return dirs
}

// calmRepository reports whether git, called in a directory, finds a repository that has
// it run nothing, or finds none.
func calmRepository(dir string) bool {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return errors.Is(err, fs.ErrNotExist) // nothing runs there
	}
	has := func(name string) bool {
		_, err := os.Lstat(filepath.Join(dir, name))
		return !errors.Is(err, fs.ErrNotExist)
	}
	for {
		switch parent := filepath.Dir(dir); {
		case has(".git"):
			return calmGitDir(filepath.Join(dir, ".git"))
		case has("HEAD"): // it may be a repository by itself
			return false
		case parent == dir:
			return true
		default:
			dir = parent
		}
	}
}

var (
	gitHead = pattern(`^(?:ref: refs/[^\s]+|[0-9a-f]{40}|[0-9a-f]{64})\n$`)
	// gitElsewhere matches files of a .git by which git reads settings, or the index, from
	// another place.
	gitElsewhere = pattern(`(?i)^(?:commondir|config\.worktree|sharedindex\..*)$`)
)

// calmGitDir reports whether a .git is a directory that git takes for a repository, and
// has only settings that are known to run nothing.
func calmGitDir(dir string) bool {
	for _, name := range []string{".", "objects", "refs"} {
		if info, err := os.Lstat(filepath.Join(dir, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil || slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return gitElsewhere().MatchString(e.Name()) }) {
		return false
	}
	if _, err := os.Lstat(filepath.Join(dir, "hooks", "post-index-change")); !errors.Is(err, fs.ErrNotExist) {
		return false
	}
	head, err := os.ReadFile(filepath.Join(dir, "HEAD"))
	if err != nil || !gitHead().Match(head) {
		return false
	}
	config, err := os.ReadFile(filepath.Join(dir, "config"))
	if err != nil || !calmConfig(string(config)) {
		return false
	}
	// git status looks into submodules, which have settings of their own. The mode of one
	// is 0160000 in the index.
	index, err := os.ReadFile(filepath.Join(dir, "index"))
	return errors.Is(err, fs.ErrNotExist) || err == nil && !bytes.Contains(index, []byte{0, 0, 0xe0, 0})
}

var (
	gitSection = pattern(`^\[(\w+)(?: "[^"]+")?\]$`)
	gitSetting = pattern(`^([A-Za-z]+) *=`)
	// gitKeys are the settings that git's reads do not run and do not open.
	gitKeys = map[string]string{
		"core":   "repositoryformatversion filemode bare logallrefupdates ignorecase precomposeunicode symlinks autocrlf eol",
		"remote": "url fetch",
		"branch": "remote merge rebase",
		"user":   "name email",
		"init":   "defaultbranch",
	}
)

// calmConfig reports whether a configuration of git has known keys alone.
func calmConfig(text string) bool {
	if strings.Contains(text, `\`) || strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsPrint(r) }) {
		return false
	}
	section := ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if m := gitSection().FindStringSubmatch(line); m != nil {
			section = strings.ToLower(m[1])
			continue
		}
		m := gitSetting().FindStringSubmatch(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
		case m == nil || !slices.Contains(strings.Fields(gitKeys[section]), strings.ToLower(m[1])):
			return false
		}
	}
	return true
}
