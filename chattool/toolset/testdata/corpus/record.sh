#!/usr/bin/env bash
# Records what real tools print where things go wrong: bash record.sh
# One or some of them: bash record.sh go-test make
#
# NAME.raw.gz is the output, byte for byte but for the names of directories.
# NAME.want is what a person looks for in it: "exit" and the exit code, "$" and
# the command, and then, one a line, text or a /regular expression/ of one line
# of the output. This script writes the first two lines; the others are written
# by hand, by somebody who has read the output. Tools print something else in
# each version, so look at it before you commit it.
#
# A recording is made on a pipe, as a command of a process manager sees it; one
# whose name ends in -tty on a terminal of 120 columns, for what shows only there.
#
# It needs Go, and cargo of 1.74 or later, which is newer than that of Debian 12.
# On Debian, as root, what is missing is installed: packages by apt-get, and
# tools of Node.js by npm, into a directory that stays for the next time. Nothing
# else is asked of another machine but what npm looks up for its recording.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
tools=${CORPUS_TOOLS:-${XDG_CACHE_HOME:-$HOME/.cache}/toolproc-corpus}

need() {
	local command=$1
	shift
	if ! command -v "$command" >/dev/null; then
		apt-get update -qq
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
	fi
}
need gcc gcc libc6-dev
need g++ g++
need make make
need cmake cmake
need git git
need node nodejs
need npm npm
need curl curl
need rsync rsync
need ffmpeg ffmpeg
need top procps
need script bsdutils
/usr/bin/python3 -c 'import pytest, setuptools, pip' 2>/dev/null ||
	need no-such-command python3-pytest python3-setuptools python3-pip python3-wheel python3-dev
if [[ ! -d $tools/node_modules/jest ]]; then
	mkdir -p "$tools"
	echo '{"private":true}' >"$tools/package.json"
	(cd "$tools" && npm install --silent jest@29 typescript@5 eslint@9 webpack@5 webpack-cli@5)
fi

demo=$(mktemp -d)
server=
finish() {
	[[ -z $server ]] || kill "$server"
	rm -rf "$demo"
}
trap finish EXIT

GOCACHE=$(go env GOCACHE)
export GOCACHE GOFLAGS=-mod=mod RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup}
export HOME=$demo/home LC_ALL=C.UTF-8 TZ=UTC USER=user LOGNAME=user
export GIT_CONFIG_COUNT=3 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=user \
	GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=user@example.com \
	GIT_CONFIG_KEY_2=init.defaultBranch GIT_CONFIG_VALUE_2=main \
	GIT_AUTHOR_DATE="2000-01-01T00:00:00Z" GIT_COMMITTER_DATE="2000-01-01T00:00:00Z"
export PIP_CONFIG_FILE=/dev/null PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
export npm_config_update_notifier=false npm_config_audit=false npm_config_fund=false
unset CI PIP_FIND_LINKS
mkdir -p "$HOME" "$demo/work"
port=0

# keep stores what it reads as the recording, without the names of this machine.
keep() {
	sed -e "s|$demo|/demo|g" -e "s|$tools|/demo/tools|g" -e "s|127\.0\.0\.1:$port|127.0.0.1:8000|g" -e "s|port $port |port 8000 |g" \
		-e "s|$(uname -r)|6.1.0|g" | gzip -9n >"$here/$1.raw.gz"
}

# note writes the first two lines of what is wanted, and leaves the others.
note() {
	local name=$1 code=$2 command=$3 want="$here/$1.want"
	local rest=
	[[ ! -f $want ]] || rest=$(tail -n +3 "$want")
	printf 'exit %d\n$ %s\n' "$code" "$command" >"$want"
	[[ -z $rest ]] || printf '%s\n' "$rest" >>"$want"
	printf '%s: %d bytes, exit code %d\n' "$name" "$(gzip -dc "$here/$name.raw.gz" | wc -c)" "$code"
}

# pipe records a command as a process manager runs it: one pipe, no terminal, and
# an environment in which nothing asks or draws. The second command is what is
# run, where that is not what a person would type.
pipe() {
	local name=$1 command=$2 code=0
	NO_COLOR=1 TERM=dumb PAGER=cat GIT_PAGER=cat GIT_TERMINAL_PROMPT=0 DEBIAN_FRONTEND=noninteractive \
		PYTHONUNBUFFERED=1 timeout 300 sh -c "${3:-$command}" </dev/null >"$demo/recording" 2>&1 || code=$?
	keep "$name" <"$demo/recording"
	note "$name" "$code" "$command"
}

# terminal records a command on a terminal.
terminal() {
	local name=$1 command=$2 code=0
	env -u NO_COLOR TERM=xterm-256color timeout 300 script -qec "stty cols 120 rows 40; ${3:-$command}" /dev/null \
		</dev/null >"$demo/recording" 2>&1 || code=$?
	keep "$name" <"$demo/recording"
	note "$name" "$code" "$command"
}

# enter makes a directory for one recording's files, and goes there.
enter() {
	rm -rf "$demo/work/$1"
	mkdir -p "$demo/work/$1"
	cd "$demo/work/$1"
}

parts=(auth billing cart catalog checkout invoice mail orders payment pricing refund report search session shipping stock tax user)

# Eighteen packages of tests; one case of one of them fails.
record_go-test() {
	enter shop
	printf 'module example.com/shop\n\ngo 1.24\n' >go.mod
	local part
	for part in "${parts[@]}"; do
		mkdir "$part"
		cat >"$part/${part}_test.go" <<-END
			package $part

			import (
				"fmt"
				"testing"
			)

			func total(items, rebate int) int {
				if items == 117 {
					return items * rebate
				}
				return items - rebate
			}

			func TestTotal(t *testing.T) {
				for i := range 160 {
					t.Run(fmt.Sprintf("%d_items", i), func(t *testing.T) {
						rebate := i / 10
						if got, want := total(i, rebate), i-rebate; got != want && "$part" == "invoice" {
							t.Errorf("total(%d, %d) = %d, want %d", i, rebate, got, want)
						}
					})
				}
			}

			func TestRejectsErrors(t *testing.T) {
				for i := range 20 {
					t.Run(fmt.Sprintf("bad_input_%d", i), func(t *testing.T) { t.Logf("refused with error %d, as it should be", i) })
				}
			}
		END
	done
	pipe go-test "go test -v ./..."
}

# A function got another argument; some callers were not changed.
record_go-vet() {
	enter vet
	printf 'module example.com/shop\n\ngo 1.24\n' >go.mod
	mkdir money
	printf 'package money\n\nfunc Round(cents int, places int) int { return cents }\n' >money/money.go
	local part
	for part in "${parts[@]}"; do
		mkdir "$part"
		{
			printf 'package %s\n\nimport (\n\t"fmt"\n\n\t"example.com/shop/money"\n)\n\n' "$part"
			printf 'func Show(name string) { fmt.Printf("%%d\\n", name) }\n\n'
			if [[ $part == [a-o]* ]]; then
				printf 'func Sum(a, b int) int { return money.Round(a+b, 2) }\n'
			else
				printf 'func Sum(a, b int) int { return money.Round(a + b) }\n'
			fi
		} >"$part/$part.go"
	done
	pipe go-vet "go vet ./..."
}

# A test that hangs: the goroutines of all its workers are printed, and among
# them the one that holds the lock.
record_go-timeout() {
	enter pool
	printf 'module example.com/pool\n\ngo 1.24\n' >go.mod
	cat >pool_test.go <<-'END'
		package pool

		import (
			"sync"
			"testing"
		)

		type store struct {
			mu   sync.Mutex
			rows map[int]int
		}

		func (s *store) put(i int) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.rows[i]++
		}

		func (s *store) compact(done chan struct{}) {
			s.mu.Lock()
			defer s.mu.Unlock()
			<-done
		}

		func TestStoreIsBusy(t *testing.T) {
			s := &store{rows: map[int]int{}}
			done := make(chan struct{})
			var all sync.WaitGroup
			for i := range 1500 {
				all.Go(func() {
					if i == 700 {
						s.compact(done)
					} else {
						s.put(i)
					}
				})
			}
			all.Wait()
			close(done)
		}
	END
	pipe go-timeout "go test -timeout 2s ./..."
}

# Three hundred files with warnings, one that does not compile.
record_make() {
	enter make
	# shellcheck disable=SC2016 # make is to expand them
	printf 'objects := $(patsubst %%.c,%%.o,$(sort $(wildcard *.c)))\nall: prog\nprog: $(objects)\n\t$(CC) -o $@ $^\n%%.o: %%.c common.h\n\t$(CC) -Wall -Wextra -O1 -c -o $@ $<\n' >Makefile
	printf '#include <stddef.h>\nstruct item { const char *name; size_t size; int flags; };\n' >common.h
	printf 'int main(void) { return 0; }\n' >main.c
	local i
	for i in $(seq -w 300); do
		cat >"module$i.c" <<-END
			#include "common.h"

			int find$i(const struct item *items, int count, size_t size)
			{
				int spare;
				for (size_t i = 0; i < count; i++)
					if (items[i].size == size)
						return i;
				return -1;
			}
		END
	done
	sed -i 's/items\[i\]\.size/items[i].length/' module147.c
	pipe make "make -j4 -k"
}

# A library of many objects; one of many programs does not link.
record_cmake() {
	enter cmake
	cat >CMakeLists.txt <<-'END'
		cmake_minimum_required(VERSION 3.18)
		project(demo C)
		find_package(Threads REQUIRED)
		file(GLOB parts part*.c)
		add_library(parts STATIC ${parts})
		foreach(i RANGE 1 60)
			add_executable(tool${i} tool${i}.c)
			target_link_libraries(tool${i} parts Threads::Threads)
		endforeach()
	END
	local i
	for i in $(seq 500); do printf 'int part%d(void) { return %d; }\n' "$i" "$i" >"part$i.c"; done
	for i in $(seq 60); do printf 'int part%d(void);\nint main(void) { return part%d(); }\n' "$i" "$i" >"tool$i.c"; done
	sed -i 's/part23/part_23/g' tool23.c
	pipe cmake "cmake -S . -B build && cmake --build build -- -k"
}

# What a compiler says of templates.
record_templates() {
	enter templates
	cat >main.cpp <<-'END'
		#include <algorithm>
		#include <functional>
		#include <iostream>
		#include <list>
		#include <map>
		#include <string>
		#include <unordered_map>
		#include <vector>

		struct Key { std::string name; int number; };

		int main() {
			std::list<Key> list;
			std::sort(list.begin(), list.end());
			std::map<Key, int> ordered;
			ordered[Key{"a", 1}] = 1;
			std::cout << list.front() << std::endl;
			std::unordered_map<Key, int> hashed;
			hashed[Key{"a", 1}] = 1;
			std::vector<std::function<void(int)>> calls;
			calls.push_back([](const std::string &s) { return s.size(); });
			return std::find(list.begin(), list.end(), "a") == list.end();
		}
	END
	pipe templates "g++ -std=c++17 -Wall -o main main.cpp"
}

# A workspace with many warnings, one crate of which does not compile. What each
# crate depends on makes the order a fixed one: eight wait for the one that fails,
# so that it comes before others.
record_cargo() {
	enter cargo
	printf '[workspace]\nresolver = "2"\nmembers = ["crates/*"]\n' >Cargo.toml
	crate() {
		local name=$1 on=$2 i
		mkdir -p "crates/$name/src"
		printf '[package]\nname = "%s"\nversion = "0.1.0"\nedition = "2021"\n' "$name" >"crates/$name/Cargo.toml"
		[[ -z $on ]] || printf '\n[dependencies]\n%s = { path = "../%s" }\n' "$on" "$on" >>"crates/$name/Cargo.toml"
		{
			for i in $(seq 20); do
				printf 'fn helper_%d(input: &str) -> usize {\n    let unused = %d;\n    input.len()\n}\n\n' "$i" "$i"
			done
			printf 'pub fn run(names: &[String]) -> usize {\n    names.iter().map(|n| helper_1(n)).sum()\n}\n'
		} >"crates/$name/src/lib.rs"
	}
	crate auth ""
	crate billing auth
	crate cart billing
	crate catalog cart
	crate mail catalog
	crate orders catalog
	crate payment orders
	crate pricing payment
	crate refund pricing
	crate report refund
	local part
	for part in checkout invoice search session shipping stock tax user; do
		crate "$part" mail
	done
	printf '\npub fn count(names: &[String]) -> u32 {\n    names.len()\n}\n' >>crates/mail/src/lib.rs
	pipe cargo "cargo build -j 1 --keep-going --offline"
	rm -rf target
	terminal cargo-tty "cargo build -j 1 --keep-going --offline"
}

record_pytest() {
	enter pytest
	mkdir tests
	local part
	for part in "${parts[@]:0:10}"; do
		cat >"tests/test_$part.py" <<-END
			import pytest


			def price(n):
			    return n * 100 if ("$part", n) not in [("catalog", 77), ("orders", 150)] else n * 10


			@pytest.mark.parametrize("n", range(200))
			def test_price_of_$part(n):
			    assert price(n) == n * 100
		END
	done
	pipe pytest "pytest -v -p no:cacheprovider" "/usr/bin/python3 -m pytest -v -p no:cacheprovider"
}

# A package with a part in C, which does not compile.
record_pip() {
	enter pip
	mkdir src
	local i
	for i in $(seq -w 60); do
		printf '#include <Python.h>\n\nint part%s(int count)\n{\n\tint spare;\n\tfor (unsigned i = 0; i < count; i++)\n\t\tif (i == 7)\n\t\t\treturn 1;\n\treturn 0;\n}\n' "$i" >"src/part$i.c"
	done
	sed -i 's/Python\.h/openssl_compat.h/' src/part31.c
	cat >setup.py <<-'END'
		from glob import glob
		from setuptools import Extension, setup

		setup(name="fastparts", version="1.0",
		      ext_modules=[Extension("fastparts", sorted(glob("src/*.c")), extra_compile_args=["-Wall", "-Wextra"])])
	END
	pipe pip "pip install --no-build-isolation ." \
		"/usr/bin/python3 -m pip install --no-build-isolation --no-index --break-system-packages --target $demo/site ."
}

# Deprecated packages, and one whose native part does not compile.
record_npm() {
	enter npm
	mkdir native app
	echo '{"name":"native-hash","version":"2.3.1","gypfile":true,"scripts":{"install":"node-gyp rebuild"}}' >native/package.json
	echo '{"targets":[{"target_name":"hash","sources":["hash.cc"]}]}' >native/binding.gyp
	cat >native/hash.cc <<-'END'
		#include <v8.h>
		#include <node.h>
		using namespace v8;

		void Hash(const FunctionCallbackInfo<Value>& args) {
		  Isolate* isolate = args.GetIsolate();
		  String::Utf8Value text(args[0]->ToString());
		  args.GetReturnValue().Set(Number::New(isolate, text.length()));
		}

		void Init(Handle<Object> exports) { NODE_SET_METHOD(exports, "hash", Hash); }
		NODE_MODULE(hash, Init)
	END
	(cd native && npm pack --silent >/dev/null)
	echo '{"name":"app","version":"1.0.0","dependencies":{"native-hash":"file:../native/native-hash-2.3.1.tgz","request":"2.88.2","rimraf":"2.7.1","querystring":"0.2.0"}}' >app/package.json
	pipe npm "npm install --nodedir=/usr" "cd app && PYTHON=/usr/bin/python3 npm install --nodedir=/usr"
}

record_node-test() {
	enter node-test
	cat >slug.test.mjs <<-'END'
		import assert from "node:assert/strict";
		import { describe, test } from "node:test";

		const slug = (s) => s.toLowerCase().replaceAll(" ", "-").replace("--", "-");

		describe("slug", () => {
		  for (let i = 0; i < 1500; i++) {
		    const spaces = i === 800 ? "   " : " ";
		    test(`title ${i}`, () => assert.equal(slug(`Title${spaces}${i}`), `title-${i}`));
		  }
		});
	END
	pipe node-test "node --test"
}

# A hundred suites, one of which has a failing test and much to log.
record_jest() {
	enter jest
	ln -s "$tools/node_modules" node_modules
	echo '{"name":"app","private":true}' >package.json
	local i part
	mkdir test
	for part in "${parts[@]}"; do
		for i in 1 2 3 4 5 6; do
			# shellcheck disable=SC2016 # JavaScript is to expand them
			printf 'const discount = (n) => (n === 42 && "%s" === "mail" && %d === 3 ? NaN : n * 0.9);\ndescribe("%s %d", () => {\n  for (let n = 0; n < 50; n += 7) {\n    test(`discount of ${n}`, () => {\n      if (n === 0) console.warn("no discount for nothing");\n      expect(discount(n)).toBeCloseTo(n * 0.9);\n    });\n  }\n});\n' \
				"$part" "$i" "$part" "$i" >"test/$part$i.test.js"
		done
	done
	pipe jest "npx jest" "node node_modules/.bin/jest -w 2"
	terminal jest-tty "npx jest" "node node_modules/.bin/jest -w 2"
}

# A field was renamed, which hundreds of lines complain about, and one line has
# another mistake.
record_tsc() {
	enter tsc
	mkdir src
	echo '{"compilerOptions":{"strict":true,"noEmit":true,"module":"esnext","target":"es2022","moduleResolution":"bundler","types":[]},"include":["src"]}' >tsconfig.json
	printf 'export interface Order {\n  id: string;\n  totalCents: number;\n}\n' >src/order.ts
	local i
	for i in $(seq -w 250); do
		printf 'import type { Order } from "./order";\n\nexport function sum%s(orders: Order[]): number {\n  let sum = 0;\n  for (const o of orders) sum += o.total;\n  return orders.length > 0 ? sum + orders[0].total : sum;\n}\n' "$i" >"src/module$i.ts"
	done
	printf 'import type { Order } from "./order";\n\nexport function key(o: Order): number {\n  return o.id;\n}\n' >src/module123.ts
	pipe tsc "npx tsc" "node $tools/node_modules/.bin/tsc"
}

# Many warnings and two errors; once for people, and once as JSON on one line.
record_eslint() {
	enter eslint
	mkdir src
	printf 'export default [{ rules: { "no-unused-vars": "warn", "eqeqeq": "warn", "no-undef": "error", "prefer-const": "warn" } }];\n' >eslint.config.mjs
	local i
	for i in $(seq -w 250); do
		printf 'export function f%s(a, b) {\n  let spare = 1;\n  let same = a == b;\n  return same;\n}\n' "$i" >"src/module$i.js"
	done
	printf 'export function load() {\n  return fetchAll(1);\n}\n' >>src/module140.js
	printf 'export function save() {\n  return 1 +;\n}\n' >>src/module141.js
	pipe eslint "npx eslint ." "node $tools/node_modules/.bin/eslint ."
	pipe eslint-json "npx eslint -f json ." "node $tools/node_modules/.bin/eslint -f json ."
}

# Exports that are not there, which are warnings, and a module that is not there;
# and a search in what was built before, where the source lies beside a bundle
# without line ends.
record_webpack() {
	enter webpack
	mkdir src
	local i
	printf 'export const retryDelay = 250;\nexport const items = [%s];\n' "$(seq -s, 20000)" >src/config.js
	for i in $(seq -w 400); do
		printf 'import * as config from "./config.js";\nimport { items, missing%s } from "./config.js";\nexport const value%s = [config.retryDelay, items.length, missing%s, "value of %s"];\n' "$i" "$i" "$i" "$i" >"src/module$i.js"
		printf 'import { value%s } from "./module%s.js";\nconsole.log(value%s);\n' "$i" "$i" "$i" >>src/index.js
	done
	node "$tools/node_modules/.bin/webpack" --mode production --entry ./src/index.js -o dist --devtool source-map >/dev/null
	pipe grep-bundle "grep -rn retryDelay . --include='*.map' --include='*config.js'"
	printf 'import "./locale/de.js";\n' >>src/module100.js
	pipe webpack "npx webpack --mode development" "node $tools/node_modules/.bin/webpack --mode development"
}

# Three hundred packages, one of which refuses to be installed. They go to a directory of
# their own, with a data base of their own.
record_apt() {
	enter apt
	local i root=$demo/work/apt/root
	mkdir debs
	for i in $(seq -w 300); do
		rm -rf pkg
		mkdir -p pkg/DEBIAN pkg/usr/share/part
		head -c 300 /dev/urandom >"pkg/usr/share/part/$i"
		printf 'Package: part%s\nVersion: 1.0\nArchitecture: all\nMaintainer: user <user@example.com>\nDescription: part %s\n' "$i" "$i" >pkg/DEBIAN/control
		if [[ $i == 127 ]]; then
			printf '#!/bin/sh\necho "part127: /etc/part.conf is from version 0.9, convert it first" >&2\nexit 1\n' >pkg/DEBIAN/preinst
			chmod 755 pkg/DEBIAN/preinst
		fi
		dpkg-deb --root-owner-group -b pkg "debs/part$i.deb" >/dev/null
	done
	local options="-o Dir::State=$root/var/lib/apt -o Dir::State::status=$root/var/lib/dpkg/status -o Dir::Cache=$root/var/cache/apt -o Dir::Log=$root/var/log/apt -o Dir::Etc=$root/etc/apt -o Dpkg::Options::=--root=$root -o Dpkg::Options::=--force-script-chrootless -o APT::Sandbox::User=root"
	mkdir -p "$root"/var/lib/dpkg/{info,updates} "$root"/var/{cache/apt/archives/partial,lib/apt/lists/partial,log/apt} \
		"$root"/etc/apt/{sources.list.d,preferences.d}
	: >"$root/var/lib/dpkg/status"
	: >"$root/etc/apt/sources.list"
	terminal apt-tty "apt-get install -y ./debs/*.deb" "apt-get $options install -y ./debs/*.deb"
}

# A clone with its progress, a merge with conflicts in some of many files, and
# what the branch changed.
record_git() {
	enter git
	git init -q repo
	cd repo
	local i
	for i in $(seq -w 900); do printf 'line %s\n' $(seq 30) "of file $i" $(seq 32 40) >"file$i.txt"; done
	git add .
	git commit -q -m "First version"
	git switch -q -c feature
	sed -i 's/^line 3$/line three/' ./*.txt
	git commit -qam "Spell out three"
	git switch -q main
	sed -i 's/^line 29$/line twenty-nine/' ./*.txt
	sed -i 's/^line 3$/line 3!/' file214.txt file305.txt file431.txt
	git commit -qam "Spell out twenty-nine"
	cd ..
	terminal git-merge-tty "git clone --progress URL clone && cd clone && git merge origin/feature" \
		"git clone --progress file://$demo/work/git/repo clone && cd clone && git merge origin/feature"
	pipe git-log "git log -p origin/main" "cd clone && git log -p origin/main"
}

# An archive, one file of which cannot be written.
record_tar() {
	enter tar
	local i
	mkdir -p photos/2021 photos/2022 photos/2023 out
	for i in $(seq -w 2500); do
		: >"photos/2021/picture$i.jpg"
		: >"photos/2022/picture$i.jpg"
		: >"photos/2023/picture$i.jpg"
	done
	tar -cf photos.tar photos
	mkdir -p out/photos/2022/picture1203.jpg/thumbnails
	pipe tar "tar -xvf photos.tar -C out"
}

record_rsync() {
	enter rsync
	local i
	mkdir -p from to
	for i in $(seq -w 1500); do head -c 1500 /dev/zero >"from/record$i.dat"; done
	mkdir -p to/record0702.dat/old
	touch to/record0702.dat/old/file
	pipe rsync "rsync -a --progress from/ to/"
}

# A download with curl's progress, which it shows on a pipe too, and then one that
# fails.
record_curl() {
	enter curl
	mkdir srv
	head -c 12000000 /dev/urandom >srv/release.tar.gz
	/usr/bin/python3 -u -m http.server --bind 127.0.0.1 --directory srv 0 >"$demo/server.out" 2>/dev/null &
	server=$!
	until port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$demo/server.out") && [[ -n $port ]]; do
		kill -0 "$server"
	done
	pipe curl "curl -vf --limit-rate 1M -O URL/release.tar.gz -O URL/release.tar.gz.sig" \
		"curl -vf --limit-rate 1M -O http://127.0.0.1:$port/release.tar.gz -O http://127.0.0.1:$port/release.tar.gz.sig"
	kill "$server"
	wait "$server" || true
	server=
}

# A film that is damaged in many places of its middle.
record_ffmpeg() {
	enter ffmpeg
	ffmpeg -v error -f lavfi -i testsrc=size=640x360:rate=25 -t 900 -c:v mpeg4 -q:v 6 film.avi
	local size i
	size=$(stat -c %s film.avi)
	for i in $(seq 40 60); do
		head -c 9000 /dev/urandom | dd of=film.avi bs=4096 seek=$((size * i / 409600)) conv=notrunc status=none
	done
	pipe ffmpeg "ffmpeg -i film.avi -c:v libx264 film.mp4" "ffmpeg -nostdin -i film.avi -vf scale=320:180 -c:v libx264 -threads 1 film.mp4"
}

# Many processes, one of which takes all the time. They are in a world of their
# own, so that only they show.
record_top() {
	enter top
	cat >world.sh <<-'END'
		mount -t proc proc /proc
		for i in $(seq 400); do sleep 300 & done
		python3 -c 'while True: pass' busy-loop &
		sleep 1
		COLUMNS=120 top -b -n 3 -d 1
		kill -9 -1
	END
	pipe top "top -b -n 3" "unshare --pid --mount --fork bash world.sh 2>&1 | grep -v Killed"
}

# The log of a real server: twenty thousand requests, and one that raises.
record_server() {
	enter server
	cat >server.py <<-'END'
		import http.client, http.server, json, sys, threading

		STOCK = {n: {"name": f"item {n}", "price": n * 100} for n in range(1, 900)}


		class Shop(http.server.BaseHTTPRequestHandler):
		    protocol_version = "HTTP/1.1"
		    disable_nagle_algorithm = True

		    def do_GET(self):
		        body = json.dumps(self.find(int(self.path.rpartition("/")[2]))).encode()
		        self.send_response(200)
		        self.send_header("Content-Length", str(len(body)))
		        self.end_headers()
		        self.wfile.write(body)

		    def find(self, number):
		        item = STOCK[number]
		        return {"name": item["name"], "euros": item["price"] / 100}


		server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Shop)
		threading.Thread(target=server.serve_forever).start()
		client = http.client.HTTPConnection(*server.server_address)
		for i in range(20000):
		    number = 1 + i * 7 % 899 if i != 11500 else 0
		    try:
		        client.request("GET", f"/items/{number}")
		        client.getresponse().read()
		    except http.client.HTTPException:
		        client.close()
		server.shutdown()
	END
	pipe server "python3 server.py" "/usr/bin/python3 server.py"
}

# A script that waits for a data base and says so ten thousand times, and once
# something else.
record_waiting() {
	enter waiting
	cat >wait-for-db.sh <<-'END'
		tries=0
		while [ "$tries" -lt 10000 ]; do
			tries=$((tries + 1))
			if [ "$tries" -eq 6120 ]; then
				echo "db.internal:5432 - FATAL: password authentication failed for user \"app\""
			else
				echo "db.internal:5432 - no response, trying again"
			fi
		done
		echo "giving up after $tries tries"
		exit 1
	END
	pipe waiting "sh wait-for-db.sh"
}

# Text in the encodings of other systems, and what is no text.
record_encodings() {
	enter encodings
	local i
	for i in $(seq 1500); do
		if ((i == 700)); then
			printf 'Fehler: Datei "Stra\xc3\x9fen.csv" ist ung\xc3\xbcltig (Zeile 12)\r\n'
		else
			printf 'Datei %d gepr\xc3\xbcft, f\xc3\xbcr gut befunden\r\n' "$i"
		fi
	done >text
	iconv -f UTF-8 -t UTF-16 text >report.txt
	pipe utf16 "type report.txt" "cat report.txt"
	iconv -f UTF-8 -t ISO-8859-1 text >report.txt
	pipe latin1 "cat report.txt"
	printf '#include <stdio.h>\nint main(void) { puts("hello"); return 0; }\n' >main.c
	gcc -g3 -static -o hello main.c
	strip -g hello
	head -c 300000 hello >hello.part
	pipe binary "cat hello" "cat hello.part"
}

all=(go-test go-vet go-timeout make cmake templates cargo pytest pip npm node-test jest tsc eslint webpack
	apt git tar rsync curl ffmpeg top server waiting encodings)
(($# == 0)) || all=("$@")
for name in "${all[@]}"; do
	cd "$demo/work"
	"record_$name"
done
