package shellfacts

import (
	"strings"
	"sync"
)

// table has a line for each program, or for several that are alike: their names, their
// options and their operands, apart by |. See [spec] for the letters. A * in front
// says that no option of the program runs or writes anything, in any implementation,
// so that words that are not known do no harm. An F says that it runs what files say,
// a + that an operand ends its options, and an = that the value of a short option is the
// next word, or digits.
const table = `
* cat | -AbeEnstTuv --show-all --number-nonblank --show-ends --number --squeeze-blank --show-tabs --show-nonprinting | r
* head | -c: -n: -qvz0123456789 --bytes: --lines: --quiet --silent --verbose --zero-terminated | r
* tail | -c: -n: -s: -fFqrvz0123456789 --bytes: --follow? --lines: --max-unchanged-stats: --pid: --quiet --silent --retry --sleep-interval: --verbose --zero-terminated | r
* wc | -cmlLw --bytes --chars --lines --files0-from:r --max-line-length --words --total: | r
* cut | -b: -c: -d: -f: -nswz --bytes: --characters: --delimiter: --fields: --complement --only-delimited --output-delimiter: --zero-terminated | r
* tr | -cCdstu --complement --delete --squeeze-repeats --truncate-set1 | -
* nl | -b: -d: -f: -h: -i: -l: -n: -s: -v: -w: -p --body-numbering: --section-delimiter: --footer-numbering: --header-numbering: --line-increment: --join-blank-lines: --number-format: --no-renumber --number-separator: --starting-line-number: --number-width: | r
* ls dir vdir | -aAbBcCdDfFgGhHiklLmnNopqQrRsStuUvxXZ1@ -I: -w: -T: --all --almost-all --author --escape --block-size: --ignore-backups --color? --colour? --directory --dired --classify? --file-type --format: --full-time --group-directories-first --no-group --human-readable --si --dereference --dereference-command-line --dereference-command-line-symlink-to-dir --hide: --hyperlink? --indicator-style: --inode --ignore: --kibibytes --literal --numeric-uid-gid --hide-control-chars --show-control-chars --quote-name --quoting-style: --reverse --recursive --size --sort: --time: --time-style: --tabsize: --width: --context --zero | r
* grep egrep fgrep | -EFGPiwxzsvVbnHhoqaIrRLlcTZUuy0123456789 -e:e -f:f -m: -A: -B: -C: -D: -d: --extended-regexp --fixed-strings --basic-regexp --perl-regexp --regexp:e --file:f --ignore-case --no-ignore-case --word-regexp --line-regexp --null-data --no-messages --invert-match --max-count: --byte-offset --line-number --line-buffered --with-filename --no-filename --label: --only-matching --quiet --silent --binary-files: --text --directories: --devices: --recursive --dereference-recursive --include: --exclude: --exclude-from:r --exclude-dir: --files-without-match --files-with-matches --count --initial-tab --null --before-context: --after-context: --context: --group-separator: --no-group-separator --color? --colour? --binary | er
* comm | -123iz --check-order --nocheck-order --output-delimiter: --total --zero-terminated | r
* join | -a: -e: -j: -o: -t: -v: -1: -2: -iz --ignore-case --check-order --nocheck-order --header --zero-terminated | r
* paste | -d: -sz --delimiters: --serial --zero-terminated | r
* tac rev | -br -s: -0 --before --regex --separator: --zero | r
* od hexdump | -A: -j: -N: -S? -t: -n: -e: -abBcCdfhiloOsvxX -w? --address-radix: --endian: --skip-bytes: --read-bytes: --strings? --format: --output-duplicates --width? --canonical --length: --skip: --no-squeezing | r
* seq | -f: -s: -t: -w --format: --separator: --equal-width | -
* md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum cksum sum | -bctzwrsa: -l: --binary --check --tag --text --zero --ignore-missing --quiet --status --strict --warn --algorithm: --length: --untagged --sysv | r
* cmp | -bls -i: -n: --print-bytes --ignore-initial: --verbose --bytes: --quiet --silent | r
* readlink realpath | -femnqsvzLP --canonicalize --canonicalize-existing --canonicalize-missing --no-newline --quiet --silent --verbose --zero --logical --physical --relative-to: --relative-base: --strip --no-symlinks | -
* basename dirname | -az -s: --multiple --suffix: --zero | -
* stat | -LftFlnqrsx -c: --dereference --file-system --cached: --format: --printf: --terse | -
* du | -0abcDhHklLmPSsx -B: -d: -t: -X:r -I: --null --all --apparent-size --block-size: --bytes --total --dereference-args --max-depth: --summarize --files0-from:r --human-readable --inodes --dereference --count-links --no-dereference --separate-dirs --si --threshold: --time? --time-style: --exclude-from:r --exclude: --one-file-system | -
* df | -ahHiklPTvgm -B: -t: -x: --all --block-size: --human-readable --si --inodes --local --no-sync --output? --portability --sync --total --type: --print-type --exclude-type: | -
* id whoami groups logname arch nproc tty users uname | -aZgGnruzsvmpio --context --group --groups --name --real --user --zero --kernel-name --nodename --kernel-release --kernel-version --machine --processor --operating-system --all --ignore: --silent --quiet | -
* who w uptime free lscpu lsblk pgrep pidof lsusb lspci cal | -abdHlmpqrstTuhwfioVkgcenvxJPOzS0123456789 --all --boot --heading --users --human --bytes --kibi --mebi --gibi --total --wide --lohi --pretty --since --json --bytes --fs --list-name --list-full --full --exact --newest --oldest --count | -
* ps | -aAdefFHjlLmMNTwxyZ -C: -G: -g: -o: -O: -p: -q: -s: -t: -u: -U: --forest --no-headers --headers --sort: --format: --pid: --ppid: --user: --cols: --rows: --cumulative --deselect --context --tty: --sid: --quick-pid: | -
* expr factor numfmt getconf sleep true false yes echo printf pwd printenv which type cal tsort sync | -as0zd: --null --all --debug --delimiter: --field: --format: --from: --from-unit: --grouping --header? --invalid: --padding: --round: --suffix: --to: --to-unit: --zero-terminated --skip-alias --skip-functions --tty-only --show-dot --data --file-system | -
* jq | -cnesrRCMSaj --compact-output --null-input --exit-status --slurp --raw-output --raw-input --raw-output0 --color-output --monochrome-output --sort-keys --ascii-output --join-output --tab --indent: --stream --seq --unbuffered --args --jsonargs --arg --argjson --slurpfile --rawfile -f:f --from-file:f -L: | er
base64 base32 basenc | -diDw: -w: -b: -o:w --decode --ignore-garbage --wrap: --base64 --base64url --base32 --base16 --output:w | r
sort | -bdfgiMhnRrVcCmsuz -k: -o:w -S: -t: -T:! --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort --ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --random-source:r --reverse --sort: --version-sort --batch-size: --check? --compress-program:! --debug --files0-from:r --key: --merge --output:w --stable --buffer-size: --field-separator: --temporary-directory:! --parallel: --unique --zero-terminated | r
uniq | -cdDiuz0123456789 -f: -s: -w: --count --repeated --all-repeated? --skip-fields: --group? --ignore-case --skip-chars: --unique --zero-terminated --check-chars: | rw!
diff | -qsceunypEZbwBtTrNaid0123456789 -C: -U: -W: -F: -x: -X:r -S: -I: -D: --normal --brief --report-identical-files --context? --unified? --ed --rcs --side-by-side --width: --left-column --suppress-common-lines --show-c-function --show-function-line: --label: --expand-tabs --initial-tab --tabsize: --suppress-blank-empty --paginate! --recursive --no-dereference --new-file --unidirectional-new-file --ignore-file-name-case --no-ignore-file-name-case --exclude: --exclude-from:r --starting-file: --from-file:r --to-file:r --ignore-case --ignore-tab-expansion --ignore-trailing-space --ignore-space-change --ignore-all-space --ignore-blank-lines --ignore-matching-lines: --text --strip-trailing-cr --ifdef: --line-format: --old-line-format: --new-line-format: --unchanged-line-format: --minimal --horizon-lines: --speed-large-files --color? --palette: | r
file | -bcikLhnN0prsvl -e: -F: -f:r -m:r -P: -z! -Z! -S! -C! --brief --checking-printout --exclude: --exclude-quiet: --files-from:r --separator: --magic-file:r --mime --mime-type --mime-encoding --apple --extension --keep-going --list --dereference --no-dereference --no-buffer --no-pad --print0 --preserve-date --raw --special-files --version --compile! --uncompress! --no-sandbox! | r
= tree | -adfilxpsuhgDFrtNqACSnJXvUcQ -L: -P: -I: -H: -T: -o:w --noreport --dirsfirst --filesfirst --prune --du --si --gitignore --matchdirs --ignore-case --inodes --device --sort: --charset: --filelimit: --timefmt: --metafirst | -
date | -uRj -d: -r: -f:r -I? -s:! --date: --file:r --iso-8601? --resolution --rfc-email --rfc-2822 --rfc-3339: --reference: --set:! --utc --universal --debug | +
ss | -hVnraloempTsi460tudwxSZ -f: -A: --numeric --resolve --all --listening --options --extended --memory --processes --threads --summary --info --ipv4 --ipv6 --tcp --udp --raw --unix --sctp --family: --query: --socket: --no-header --oneline | -
lsof | -abhlnoOPRtUVwX -i? -p: -u: -c: -d: -g? -s? -r? -F? -S? -T? | -
netstat | -46WaceilMnNoprstuvwx -A: --all --continuous --extend --groups --interfaces --listening --numeric --numeric-hosts --numeric-ports --programs --program --raw --route --statistics --symbolic --tcp --timers --udp --unix --verbose --wide --inet --inet6 | -
rg | -aAcCFhHiIlLNnoPpqsSuUvVwx0. -A: -B: -C: -E: -e:e -f:f -g: -j: -m: -M: -r: -t: -T: -d: -z! --pre:! --search-zip! --hostname-bin:! --after-context: --before-context: --context: --color: --colors: --column --count --count-matches --files --files-with-matches --files-without-match --fixed-strings --glob: --iglob: --heading --no-heading --hidden --ignore-case --smart-case --case-sensitive --invert-match --json --line-number --no-line-number --line-regexp --max-columns: --max-count: --max-depth: --max-filesize: --multiline --no-config --no-filename --with-filename --no-ignore --no-ignore-vcs --no-messages --null --only-matching --passthru --pcre2 --pretty --quiet --regexp:e --file:f --replace: --sort: --sortr: --stats --text --threads: --trim --type: --type-not: --type-list --unrestricted --vimgrep --word-regexp --follow | er
fd fdfind | -HIiLpgasFuq0l! -d: -t: -e: -E: -c: -S: -j: -x! -X! --hidden --no-ignore --no-ignore-vcs --case-sensitive --ignore-case --glob --regex --fixed-strings --absolute-path --follow --full-path --print0 --max-depth: --min-depth: --exact-depth: --type: --extension: --exclude: --color: --size: --max-results: --quiet --unrestricted --list-details! --exec! --exec-batch! | -
tee | -aip --append --ignore-interrupts --output-error? | w
touch | -acfhm -d: -r: -t: --no-create --date: --no-dereference --reference: --time: | m
mkdir | -pv -m: --mode: --parents --verbose | m
rmdir | | m
rm unlink | -fiIrRdv --force --interactive? --one-file-system --no-preserve-root --preserve-root? --recursive --dir --verbose | m
chmod | -cfvR --changes --silent --quiet --verbose --no-preserve-root --preserve-root --reference:e --recursive | em
chown chgrp | -cfvhRHLP --changes --silent --quiet --verbose --dereference --no-dereference --from: --no-preserve-root --preserve-root --reference:e --recursive | em
cp | -adfiHlLnPpRrTuvxZs -t: --archive --attributes-only --copy-contents --force --interactive --link --dereference --no-clobber --no-dereference --preserve? --no-preserve: --recursive --reflink? --remove-destination --sparse: --strip-trailing-slashes --symbolic-link --target-directory: --no-target-directory --update? --verbose --one-file-system | copy
mv | -finTuvZ -t: --force --interactive --no-clobber --no-copy --strip-trailing-slashes --target-directory: --no-target-directory --update? --verbose | copy
ln | -dFfinLPrsTv -t: --directory --force --interactive --logical --no-dereference --physical --relative --symbolic --target-directory: --no-target-directory --verbose | copy
find | | find
sed gsed | -nErsuz -l: -i? -e:e -f:f --quiet --silent --regexp-extended --separate --unbuffered --null-data --line-length: --in-place? --expression:e --file:f --follow-symlinks --posix --debug --sandbox | sed
awk gawk mawk nawk | -F: -v: -f:f --field-separator: --assign: --file:f --posix --re-interval --traditional --lint? --version | awk
+ env | -i0v -u: -C:! -S! --ignore-environment --null --unset: --chdir:! --split-string! --block-signal? --default-signal? --ignore-signal? --list-signal-handling --debug | x
+ nohup chronic | | x
+ timeout | -k: -s: -vfp --preserve-status --foreground --kill-after: --signal: --verbose | -x
+ nice | -n: -0123456789 --adjustment: | x
+ time | -pvqa -f: -o:w --portability --verbose --quiet --append --format: --output:w | x
+ sudo doas | -EHnkSbA! -u: -g: -h: -p: -C: -D:! -e! -i! -s! -l -v -K --preserve-env? --non-interactive --user: --group: --set-home --stdin --chdir:! --prompt: --edit! --login! --shell! --list | x
+ xargs | -0oprtx -a:r -d: -E: -e? -I:! -i?! -L: -l? -n: -P: -s: --null --arg-file:r --delimiter: --eof? --replace?! --max-lines? --max-args: --open-tty --max-procs: --interactive --process-slot-var:! --no-run-if-empty --max-chars: --show-limits --verbose --exit | xargs
sh bash dash ash rbash zsh ksh mksh yash fish csh tcsh | | shell
* test [ | ! | -
F + python python2 python3 python3.8 python3.9 python3.10 python3.11 python3.12 python3.13 python3.14 pypy pypy3 | -bBdEhiIOPqRsStuvVx -W: -X:! -c:! -m:! --version | script
F + node nodejs deno bun perl ruby php lua luajit tclsh Rscript osascript ts-node tsx julia | -vV --version | script
F git | | any
F go gofmt | | any
F make gmake bmake ninja | | any
F gcc g++ cc c++ clang clang++ rustc javac tsc | | any
F npm npx pnpm yarn pytest tox nox cargo rake bundle gradle gradlew mvn ant cmake meson bazel ctest jest vitest mocha eslint prettier pip pip3 pipx poetry uv uvx composer dotnet swift mix sbt rebar3 just task nix docker docker-compose kubectl helm terraform ansible ansible-playbook pre-commit black ruff mypy flake8 golangci-lint | | any
F curl | -sSLfIikvgGjlmNnpqR046#aB -A: -b: -c:w -C: -d: -D:w -e: -E: -F: -h? -H: -K:! -m: -o:w -O! -P: -Q: -r: -t: -T: -u: -U: -w: -x: -X: -y: -Y: -z: -Z -J! --silent --show-error --location --fail --head --include --insecure --verbose --get --compressed --connect-timeout: --max-time: --retry: --retry-delay: --header: --data: --data-raw: --data-binary: --data-urlencode: --json: --request: --user: --user-agent: --url: --output:w --remote-name! --output-dir:! --config:! --cookie: --cookie-jar:w --dump-header:w --form: --write-out: --proxy: --cacert: --cert: --key: --resolve: --http1.1 --http2 --no-progress-meter --progress-bar --fail-with-body --noproxy: --unix-socket: --create-dirs --ipv4 --ipv6 | -
`

// opaque are programs that run or write whatever their arguments, input and
// configuration say.
const opaque = `
su runuser less more most man info vi vim nvim view ex ed emacs nano pico pager bat batcat
script screen tmux expect gdb lldb strace ltrace perf valgrind at batch crontab parallel entr
setarch ssh scp sftp rsync wget zip unzip 7z cpio ar patch split csplit sqlite3 psql mysql redis-cli mongo
dd openssl gpg m4 bc dc tput mktemp logrotate systemd-run start-stop-daemon chroot unshare nsenter setpriv capsh
zcat gzcat bzcat xzcat zstdcat zgrep zless ldd shred jshell ipython irb ghci gnuplot latex pdflatex tex indent
fold fmt expand unexpand column strings nm size objdump readelf addr2line c++filt shuf iconv xxd hostname truncate mkfifo install
gzip gunzip bzip2 bunzip2 xz unxz zstd tar gtar setsid ionice stdbuf flock prlimit taskset chrt linux32 linux64 i386 x86_64 watch
busybox toybox`

// programs parses the table once.
var programs = sync.OnceValue(func() map[string]*spec {
	all := make(map[string]*spec)
	for line := range strings.Lines(table) {
		names, rest, ok := strings.Cut(strings.TrimSpace(line), " | ")
		if !ok {
			continue
		}
		options, operands, _ := strings.Cut(" "+rest, "| ")
		s := parseSpec(options)
		s.operands = strings.TrimSpace(operands)
		s.long["help"], s.long["version"] = option{}, option{}
		for name := range strings.FieldsSeq(names) {
			switch name {
			case "*":
				s.free = true
			case "+":
				s.plus = true
			case "=":
				s.apart = true
			case "F":
				s.files = true
			default:
				all[name] = s
			}
		}
	}
	for name := range strings.FieldsSeq(opaque) {
		all[name] = &spec{never: true}
	}
	return all
})
