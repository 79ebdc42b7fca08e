#!/usr/bin/env bash
# Records what real tools print to a terminal, one file each: bash record.sh
# One or some of them: bash record.sh git npm
#
# A recording NAME.raw stands beside NAME.txt, the text that it becomes, which
# "go test -update" writes. Tools print something else in each version, so look
# at the difference before you commit it.
#
# Nothing here leaves the machine: servers and repositories are local ones.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
demo=$(mktemp -d)
server=
finish() {
	[[ -z $server ]] || kill "$server"
	rm -rf "$demo"
}
trap finish EXIT

export RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} GOCACHE=${GOCACHE:-$HOME/.cache/go-build}
export HOME=$demo/home TERM=xterm-256color LC_ALL=C.UTF-8 TZ=UTC
export USER=user LOGNAME=user
export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=user \
	GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=user@example.com \
	GIT_AUTHOR_DATE="2000-01-01T00:00:00Z" GIT_COMMITTER_DATE="2000-01-01T00:00:00Z"
export PIP_CONFIG_FILE=/dev/null PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 npm_config_update_notifier=false npm_config_audit=false npm_config_fund=false
unset NO_COLOR CI GIT_PAGER PAGER PIP_FIND_LINKS
mkdir -p "$HOME" "$demo/srv/simple/demo" "$demo/work"
cd "$demo/work"

# terminal runs a command on a terminal of 80 columns and 24 lines. It replaces
# paths and ports that differ from run to run.
terminal() {
	timeout 60 script -qc "stty cols 80 rows 24; $1" /dev/null </dev/null |
		sed -e "s|$demo|/demo|g" -e "s|127\.0\.0\.1:$port|127.0.0.1:8000|g"
}

head -c 12000000 /dev/urandom >"$demo/srv/file.bin"
port=0
python3 -u -m http.server --bind 127.0.0.1 --directory "$demo/srv" 0 >"$demo/server.out" 2>/dev/null &
server=$!
until port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$demo/server.out") && [[ -n $port ]]; do
	kill -0 "$server"
done

record_git() {
	git init -q -b main repo
	for i in $(seq 300); do
		head -c 2000 /dev/urandom >"repo/file$i"
	done
	git -C repo add .
	git -C repo commit -q -m "A commit"
	terminal "git clone --progress file://$demo/work/repo clone; cd clone && echo x >file1 &&
		git -c color.ui=always --no-pager log --stat=60,30,3 && git --no-pager status && git --no-pager diff --stat"
}

record_npm() {
	mkdir -p npm/dependency npm/demo
	echo '{"name":"dependency","version":"1.0.0","scripts":{"postinstall":"sleep 1"}}' >npm/dependency/package.json
	echo '{"name":"demo","version":"1.0.0","dependencies":{"dependency":"file:../dependency"}}' >npm/demo/package.json
	terminal "cd npm/demo && npm install --offline --foreground-scripts=false; npm ls; npm run nothing"
}

record_cargo() {
	mkdir -p cargo/src
	printf '[package]\nname = "demo"\nversion = "0.1.0"\nedition = "2021"\n' >cargo/Cargo.toml
	printf 'fn main() {\n    let unused = 1;\n    println!("hello");\n}\n\n#[test]\nfn adds() {\n    assert_eq!(1 + 1, 2);\n}\n' >cargo/src/main.rs
	terminal "cd cargo && cargo build; cargo test; echo 'fn f() -> u8 { \"\" }' >>src/main.rs; cargo build"
}

record_pip() {
	mkdir -p wheel/demo-1.0.dist-info
	printf 'Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n' >wheel/demo-1.0.dist-info/METADATA
	printf 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n' >wheel/demo-1.0.dist-info/WHEEL
	: >wheel/demo-1.0.dist-info/RECORD
	cp "$demo/srv/file.bin" wheel/demo.bin
	(cd wheel && python3 -m zipfile -c "$demo/srv/simple/demo/demo-1.0-py3-none-any.whl" ./*)
	terminal "python3 -m pip download --index-url http://127.0.0.1:$port/simple demo; python3 -m pip download --index-url http://127.0.0.1:$port/simple nothing"
}

record_curl() { terminal "curl -# --limit-rate 4M -o a http://127.0.0.1:$port/file.bin; curl --limit-rate 4M -o b http://127.0.0.1:$port/file.bin"; }
record_wget() { terminal "wget --limit-rate 4m -O c http://127.0.0.1:$port/file.bin"; }
record_dd() { terminal "for i in 1 2 3; do head -c 100M /dev/zero; sleep 1.1; done | dd bs=1M iflag=fullblock of=/dev/null status=progress"; }

record_go-test() {
	mkdir gotest
	printf 'module demo\n' >gotest/go.mod
	printf 'package demo\n\nimport "testing"\n\nfunc TestGood(t *testing.T) { t.Log("fine") }\n\nfunc TestBad(t *testing.T) {\n\tt.Run("case", func(t *testing.T) { t.Error("not fine") })\n}\n' >gotest/demo_test.go
	terminal "cd gotest && go test -v ./..."
}

record_make() {
	mkdir make
	# shellcheck disable=SC2016 # make is to expand them
	printf 'all: good bad\n%%: %%.c\n\t$(CC) -Wall -fdiagnostics-color=always -fdiagnostics-urls=always -o $@ $<\n' >make/Makefile
	printf 'int main(void) { int unused; return 0; }\n' >make/good.c
	printf 'int main(void) { return undeclared; }\n' >make/bad.c
	terminal "make -C make CC=gcc"
}

record_ls() {
	mkdir -p ls/directory
	touch ls/file ls/archive.tar.gz ls/picture.png
	ln -s file ls/link
	install -m 755 /dev/null ls/program
	terminal "ls --color=always -F ls; ls --color=always --hyperlink=never -1 ls; grep --color=always -rn main $here/record.sh | cut -c 1-200 | sed 's|$here|/demo|'"
}

# The one process that top and watch show is one of ours.
record_top() { terminal 'sleep 60 & top -b -n 2 -d 0.2 -p $!; top -n 2 -d 0.2 -p $!; kill $!'; }
record_watch() { terminal 'clear; timeout --foreground -s INT 1 watch -t -n 0.3 "seq 3; date -u +%N"; tput reset; echo done'; }

record_utf16() { printf 'Windows-Text\r\nzweite Zeile: \xc3\xa4\xc3\xb6\xc3\xbc \xe2\x82\xac\r\n\r\nEnde\r\n' | iconv -f UTF-8 -t UTF-16; }
record_latin1() { printf 'caf\xe9 \xab\x9b31mna\xefve\xbb\r\n10 %%\r50 %%\r100 %%\r\n\x9d0;t\x9c\xff\n'; }
record_binary() { seq 2000 | gzip -n; }

all=(git npm cargo pip curl wget dd go-test make ls top watch utf16 latin1 binary)
(($# == 0)) || all=("$@")
for name in "${all[@]}"; do
	"record_$name" >"$here/$name.raw"
	printf '%s: %d bytes\n' "$name" "$(wc -c <"$here/$name.raw")"
done
