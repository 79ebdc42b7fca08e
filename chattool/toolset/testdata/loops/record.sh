#!/usr/bin/env bash
# Records the loops beside it: bash record.sh [NAME ...], in an empty directory.
# Each is a small project, a command, and five edits with a run after each. It needs
# go, pytest, node, npm (for tsc and eslint), make, a C compiler, git and terraform.
# docker and flood are written here, in the form of the real ones. A % before a line
# begins what the test reads: a run with its exit code, and its start if its lines begin
# with times; and a line that a reader of that run looks for.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C NO_COLOR=1 CI=1 GOCACHE=${GOCACHE:-$(go env GOCACHE)} HOME=$work TF_CLI_CONFIG_FILE=/dev/null CHECKPOINT_DISABLE=1

begin() { name=$1; out=$here/$name.txt; : >"$out"; rm -rf "$work/srv"; mkdir -p "$work/srv"; cd "$work/srv" || exit; echo "$name" >&2; }

# run COMMAND WANTED ... runs the command, and records it with the wanted lines.
run() {
	local text code start=
	text=$(bash -c "$1" 2>&1); code=$?
	{
		[[ $text =~ ^([0-9-]{10}T[0-9:]{8})\.000Z ]] && start=" ${BASH_REMATCH[1]}Z"
		echo "%run $code$start"
		for want in "${@:2}"; do echo "%want $want"; done
		sed "s|$work/srv|/srv/app|g; s|$work|/home/dev|g" <<<"$text"
	} >>"$out"
}

gotest() {
	begin gotest
	printf 'module example.com/shop\n\ngo 1.24\n' >go.mod
	cat >total.go <<'X'
package shop

// Total is the price of n items, with a discount from 10 on.
func Total(n, price int) int {
	if n >= 10 {
		return n * price * 9 / 10
	}
	return n * price
}
X
	{
		printf 'package shop\n\nimport (\n\t"fmt"\n\t"testing"\n)\n\nfunc TestTotal(t *testing.T) {\n\tfor n := range 70 {\n\t\tt.Run(fmt.Sprintf("%%d_items", n), func(t *testing.T) {\n'
		printf '\t\t\twant := n * 20\n\t\t\tif n >= 10 {\n\t\t\t\twant = n * 18\n\t\t\t}\n\t\t\tif got := Total(n, 20); got != want {\n\t\t\t\tt.Errorf("Total(%%d, 20) = %%d, want %%d", n, got, want)\n\t\t\t}\n\t\t})\n\t}\n}\n'
	} >total_test.go
	local c='go test -count=1 -v ./...'
	go vet ./... # builds what is cached
	run "$c" 'ok  	example.com/shop' '--- PASS: TestTotal/69_items'
	sed -i 's/n >= 10/n > 10/' total.go
	run "$c" 'Total(10, 20) = 200, want 180' '--- FAIL: TestTotal/10_items' 'FAIL	example.com/shop' '--- PASS: TestTotal/69_items'
	sed -i 's/n > 10/n >= 9/' total.go
	run "$c" 'Total(9, 20) = 162, want 180' '--- FAIL: TestTotal/9_items'
	sed -i 's/n >= 9/n >= 10/' total.go
	run "$c" 'ok  	example.com/shop' '--- PASS: TestTotal/10_items'
	echo '// It rounds down.' >>total.go
	run "$c" 'ok  	example.com/shop' '--- PASS: TestTotal/11_items'
	sed -i 's|return n \* price$|return n*price + n/8|' total.go
	run "$c" 'Total(8, 20) = 161, want 160' 'Total(9, 20) = 181, want 180' '--- PASS: TestTotal/7_items'
}

pytest() {
	begin pytest
	mkdir shop && touch shop/__init__.py
	printf 'def total(n, price):\n    if n >= 10:\n        return n * price * 9 // 10\n    return n * price\n' >shop/total.py
	printf 'import pytest\n\nfrom shop.total import total\n\n\n@pytest.mark.parametrize("n", range(60))\ndef test_total(n):\n    assert total(n, 20) == (n * 18 if n >= 10 else n * 20)\n' >test_total.py
	local c='python3 -B -m pytest -v -p no:cacheprovider --color=no'
	run "$c" '60 passed' 'test_total.py::test_total[59] PASSED'
	sed -i 's/>= 10/> 10/' shop/total.py
	run "$c" 'assert 200 == 180' 'FAILED test_total.py::test_total[10]' '1 failed, 59 passed' 'test_total.py::test_total[59] PASSED'
	sed -i 's/> 10/>= 9/' shop/total.py
	run "$c" 'assert 162 == 180' 'FAILED test_total.py::test_total[9]'
	sed -i 's/>= 9/>= 10/' shop/total.py
	run "$c" '60 passed' 'test_total.py::test_total[10] PASSED'
	echo '# it rounds down' >>shop/total.py
	run "$c" '60 passed' 'test_total.py::test_total[9] PASSED'
	sed -i 's/^    return n \* price$/    return n * price + n \/\/ 9/' shop/total.py
	run "$c" 'assert 181 == 180' '1 failed, 59 passed'
}

npmtest() {
	begin npmtest
	printf '{"name":"shop","version":"1.0.0","scripts":{"test":"node --test --test-reporter=spec"}}\n' >package.json
	printf 'exports.total = (n, price) => (n >= 10 ? (n * price * 9) / 10 : n * price);\n' >total.js
	printf 'const test = require("node:test");\nconst assert = require("node:assert");\nconst { total } = require("./total");\nfor (let n = 0; n < 60; n++) test(`total of ${n} items`, () => assert.strictEqual(total(n, 20), n >= 10 ? n * 18 : n * 20));\n' >total.test.js
	local c='npm test'
	run "$c" 'pass 60' 'total of 59 items'
	sed -i 's/>= 10/> 10/' total.js
	run "$c" '200 !== 180' '✖ total of 10 items' 'fail 1' 'total of 59 items'
	sed -i 's/> 10/>= 9/' total.js
	run "$c" '162 !== 180' '✖ total of 9 items'
	sed -i 's/>= 9/>= 10/' total.js
	run "$c" 'pass 60' 'total of 10 items'
	echo '// it rounds down' >>total.js
	run "$c" 'pass 60' 'fail 0'
	sed -i 's/: n \* price)/: n * price + (n >> 3))/' total.js
	run "$c" '161 !== 160' 'fail 2'
}

make_() {
	begin make
	local i
	{ printf 'objects :='; for i in $(seq 60); do printf ' module%d.o' "$i"; done
	  printf '\n\nall: $(objects)\n\n%%.o: %%.c items.h\n\tcc -std=c11 -Wall -Wextra -O1 -c -o $@ $<\n'; } >Makefile
	printf 'struct item { int price; int size; };\n' >items.h
	for i in $(seq 60); do printf '#include "items.h"\n\nint total%d(const struct item *items, int n)\n{\n\tint sum = 0;\n\tfor (int i = 0; i < n; i++)\n\t\tsum += items[i].price;\n\treturn sum;\n}\n' "$i" >"module$i.c"; done
	local c='make -B -k'
	run "$c" 'cc -std=c11 -Wall -Wextra -O1 -c -o module60.o module60.c'
	sed -i 's/items\[i\].price/items[i].cost/' module17.c
	run "$c" "module17.c:7:" "has no member named" 'make: *** [Makefile:6: module17.o] Error 1' 'module59.c'
	sed -i 's/items\[i\].cost/items[i].price/; s/int sum = 0/int sum = 0, unused/' module17.c
	run "$c" "module17.c:5:" "unused variable"
	sed -i 's/, unused//' module17.c
	run "$c" 'module17.c' 'module60.c'
	echo '/* It does not overflow. */' >>module3.c
	run "$c" 'module3.c' 'module60.c'
	sed -i 's/return sum;/return sum/' module41.c
	run "$c" "module41.c:8:" "expected ';'" 'Error 1'
}

node_tools() { mkdir -p "$work/tools"; [ -d "$work/tools/node_modules" ] || (cd "$work/tools" && echo '{"private":true}' >package.json && HOME=$work npm install --silent --no-audit --no-fund typescript@5 eslint@9 >&2); }

tsc() {
	node_tools
	begin tsc
	local i
	printf '{"compilerOptions":{"strict":true,"noEmit":true,"target":"es2022","types":[]},"include":["*.ts"]}\n' >tsconfig.json
	printf 'export interface Item { price: number; size?: number }\n' >items.ts
	for i in $(seq 40); do printf 'import { Item } from "./items";\n\nexport function total%d(items: Item[]): number {\n  let sum = 0;\n  for (const item of items) sum += item.size;\n  return sum;\n}\n' "$i" >"module$i.ts"; done
	local c="$work/tools/node_modules/.bin/tsc --pretty false"
	run "$c" "module40.ts(5,36): error TS18048: 'item.size' is possibly 'undefined'."
	sed -i 's/item.size/item.size ?? 0/' module7.ts
	run "$c" "module40.ts(5,36): error TS18048"
	sed -i 's/item.size/item.size ?? 0/' module8.ts
	sed -i 's/sum += item.size ?? 0/sum += item.sise ?? 0/' module7.ts
	run "$c" "module7.ts(5,41): error TS2339: Property 'sise' does not exist on type 'Item'." "module39.ts(5,36)"
	sed -i 's/sise/size/' module7.ts
	run "$c" "module9.ts(5,36): error TS18048"
	echo '// none' >>module7.ts
	run "$c" "module9.ts(5,36): error TS18048"
	sed -i 's/let sum = 0/let sum: string = 0/' module30.ts
	run "$c" "module30.ts(4,7): error TS2322: Type 'number' is not assignable to type 'string'."
}

eslint() {
	node_tools
	begin eslint
	local i
	ln -s "$work/tools/node_modules" node_modules
	printf 'module.exports = [{ files: ["src/*.js"], languageOptions: { sourceType: "commonjs" }, rules: { "no-unused-vars": "warn", "no-undef": "error", "eqeqeq": "error" } }];\n' >eslint.config.js
	mkdir src
	for i in $(seq 25); do printf 'function total%d(items) {\n  let unused;\n  return items.reduce((sum, item) => (item == null ? sum : sum + item.price), 0);\n}\nexports = total%d;\n' "$i" "$i" >"src/module$i.js"; done
	local c='node_modules/.bin/eslint src'
	run "$c" "Expected '===' and instead saw '=='" '50 problems'
	sed -i 's/== null/=== null/' src/module4.js
	run "$c" '/srv/app/src/module25.js' 'problems ('
	sed -i 's/item.price/price/' src/module6.js
	run "$c" "'price' is not defined" '/srv/app/src/module6.js'
	sed -i 's/+ price/+ item.price/; s/== null/=== null/' src/module6.js
	run "$c" 'problems ('
	echo '// none' >>src/module6.js
	run "$c" 'problems ('
	sed -i '/let unused/d' src/module9.js
	run "$c" '/srv/app/src/module9.js' 'problems ('
}

gitstatus() {
	begin gitstatus
	local i
	git init -q -b main . && git config user.email dev@example.com && git config user.name dev
	mkdir -p internal/store
	for i in $(seq 60); do echo "package store // $i" >"internal/store/table_$i.go"; done
	git add -A && git commit -qm first
	for i in $(seq 45); do echo "// changed" >>"internal/store/table_$i.go"; done
	local c='git status'
	run "$c" 'modified:   internal/store/table_45.go'
	echo '// changed' >>internal/store/table_50.go
	run "$c" 'modified:   internal/store/table_50.go' 'modified:   internal/store/table_45.go'
	git add internal/store/table_1.go
	run "$c" 'Changes to be committed:' 'modified:   internal/store/table_1.go'
	echo new >internal/store/new.go
	run "$c" 'Untracked files:' 'internal/store/new.go'
	run "$c" 'internal/store/new.go'
	git rm -qf internal/store/table_60.go
	run "$c" 'deleted:    internal/store/table_60.go'
}

terraform_() {
	begin terraform
	local i
	for i in $(seq 30); do printf 'resource "terraform_data" "host_%d" {\n  input = {\n    name = "host-%d"\n    size = "small"\n    zone = "eu-%d"\n  }\n}\n\n' "$i" "$i" $((i % 3)); done >main.tf
	terraform init -no-color >/dev/null
	local c='terraform plan -no-color -input=false'
	run "$c" 'Plan: 30 to add, 0 to change, 0 to destroy.'
	sed -i '0,/small/s//large/' main.tf
	run "$c" '"large"' 'Plan: 30 to add'
	printf 'resource "terraform_data" "more" {\n  input = "x"\n}\n' >>main.tf
	run "$c" 'terraform_data.more will be created' 'Plan: 31 to add'
	echo '# none' >>main.tf
	run "$c" 'Plan: 31 to add'
	sed -i 's/"eu-2"/"us-2"/' main.tf
	run "$c" '"us-2"' 'Plan: 31 to add'
	sed -i 's/input = "x"/input = 1 + "y"/' main.tf
	run "$c" 'Error: Invalid operand' 'a number is required'
}

# docker build --progress=plain: what was built is cached, and each line of a step
# that runs has the time since its start.
docker_() {
	begin docker
	local n
	build() { # EXIT TIMES LINES...: a build whose last step prints lines
		local at=$2 i
		echo '#0 building with "default" instance using docker driver'
		echo; echo '#1 [internal] load build definition from Dockerfile'; echo '#1 transferring dockerfile: 612B done'; echo "#1 DONE 0.0s"
		echo; echo '#2 [internal] load metadata for docker.io/library/node:20-bookworm-slim'; echo "#2 DONE 0.${at}s"
		echo; echo '#3 [internal] load .dockerignore'; echo '#3 transferring context: 64B done'; echo '#3 DONE 0.0s'
		for i in $(seq 4 16); do echo; echo "#$i [build $((i - 3))/14] RUN apt-get install -y --no-install-recommends package-$i && rm -rf /var/lib/apt/lists/*"; echo "#$i CACHED"; done
		echo; echo '#17 [build 14/14] RUN npm run build'
		shift 2
		n=0; for i in "$@"; do n=$((n + 1)); echo "#17 $n.$at$((n % 7))1 $i"; done
	}
	fine() { build 0 "$1" '> shop@1.0.0 build' '> tsc -p .'; echo "#17 DONE 3.$1s"; echo; echo '#18 exporting to image'; echo '#18 exporting layers'; echo "#18 exporting layers 0.$1s done"; echo "#18 writing image sha256:$2 done"; echo '#18 naming to docker.io/library/shop:dev done'; echo "#18 DONE 0.$1s"; }
	fails() { build 1 "$1" '> shop@1.0.0 build' '> tsc -p .' "$2"; echo "#17 ERROR: process \"/bin/sh -c npm run build\" did not complete successfully: exit code: 2"; echo '------'; echo ' > [build 14/14] RUN npm run build:'; echo "3.$131 $2"; echo '------'; echo 'ERROR: failed to solve: process "/bin/sh -c npm run build" did not complete successfully: exit code: 2'; return 1; }
	export -f build fine fails
	run 'fine 2 4f2a3b51c0' 'writing image sha256:4f2a3b51c0'
	run 'fails 4 "src/total.ts(3,7): error TS2322: Type string is not assignable to type number."' 'src/total.ts(3,7): error TS2322' 'ERROR: failed to solve' 'package-16'
	run 'fails 3 "src/total.ts(9,1): error TS1005: , expected."' 'src/total.ts(9,1): error TS1005'
	run 'fine 5 77aa3b51c0' 'writing image sha256:77aa3b51c0'
	run 'fine 2 77aa3b51c0' 'writing image sha256:77aa3b51c0'
	run 'fine 3 0c1d3b51c0' 'writing image sha256:0c1d3b51c0'
}

# An integration test whose server logs a line with the time for each request.
flood() {
	begin flood
	serve() { # SEED AT LINE: 400 requests, and one line in the place of another
		awk -v seed="$1" -v at="$2" -v line="$3" 'BEGIN {
			for (i = 0; i < 400; i++) {
				t = sprintf("2026-03-%02dT%02d:%02d:%02d.%03dZ", 1 + seed, 9 + seed, int(i / 20), (i * 3) % 60, (i * seed * 7) % 1000)
				if (i == at) print t, line
				else print t, "INFO  GET /items/" i " 200 " (100 + i * 37 % 900) "B"
			}
			print (at < 0 ? "400 requests, 0 errors" : "400 requests, 1 error")
		}'
		[ "$2" -lt 0 ]
	}
	export -f serve
	run 'serve 1 -1' '400 requests, 0 errors'
	run 'serve 2 217 "ERROR GET /items/217 500: deadlock detected"' 'ERROR GET /items/217 500: deadlock detected' '400 requests, 1 error'
	run 'serve 3 218 "ERROR GET /items/218 500: deadlock detected"' 'ERROR GET /items/218 500: deadlock detected'
	run 'serve 4 -1' '400 requests, 0 errors'
	run 'serve 5 -1' '400 requests, 0 errors'
	run 'serve 6 30 "WARN  GET /items/30 200 slow: 1204 ms"' 'WARN  GET /items/30 200 slow: 1204 ms'
}

for tool in "${@:-gotest pytest npmtest make_ tsc eslint gitstatus terraform_ docker_ flood}"; do for t in $tool; do $t; done; done
