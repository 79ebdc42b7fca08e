#!/usr/bin/env bash
# Records the pairs beside it: bash record.sh, in an empty directory. Each is a command
# that runs twice, a minute or more apart, and what changed between the runs. It needs go, node,
# python3, git and GNU find; aws is written here, in the form of the real one.
#
# A % before a line begins what the test reads: "%noise" or "%want TEXT" for a text that a
# reader of the second run looks for, and "%run START SECONDS" before the output of a run.
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export LC_ALL=C TZ=UTC NO_COLOR=1 CI=1 GOCACHE=${GOCACHE:-$(go env GOCACHE)} HOME=$work GOFLAGS=-mod=mod GOWORK=off
export GIT_AUTHOR_NAME=dev GIT_AUTHOR_EMAIL=dev@example.com GIT_COMMITTER_NAME=dev GIT_COMMITTER_EMAIL=dev@example.com
[[ -z $(ls -A "$here"/*.txt 2>/dev/null) ]] || rm "$here"/*.txt

names=()
declare -A setup change command want

# pair NAME WANTED SETUP COMMAND CHANGE; WANTED is "" for noise.
pair() { names+=("$1"); want[$1]=$2 setup[$1]=$3 command[$1]=$4 change[$1]=$5; }

run() {
	local start begun text
	start=$(date -u +%Y-%m-%dT%H:%M:%S.%NZ) begun=$(date +%s%N)
	text=$(cd "$work/$1" && bash -c "${command[$1]}" 2>&1)
	printf '%%run %s %d.%03d\n' "$start" $((($(date +%s%N) - begun) / 1000000000)) $((($(date +%s%N) - begun) / 1000000 % 1000)) >>"$here/$1.txt"
	sed "s|$work/$1|/srv/app|g; s|$work|/home/dev|g" <<<"$text" >>"$here/$1.txt"
}

# What a go test of so many cases runs, and how long one of them takes.
gotest() {
	printf 'module example.com/shop\n\ngo 1.24\n' >go.mod
	printf 'package shop\n\nimport (\n\t"testing"\n\t"time"\n\t"os"\n\t"strconv"\n)\n\nfunc TestTotal(t *testing.T) {\n\tfor i := range 60 {\n\t\tt.Run("case"+strconv.Itoa(i), func(t *testing.T) {\n\t\t\ttime.Sleep(time.Duration(i%%7) * 3 * time.Millisecond)\n\t\t\tif _, err := os.Stat("slow"); err == nil && i == 30 {\n\t\t\t\ttime.Sleep(3170 * time.Millisecond)\n\t\t\t}\n\t\t})\n\t}\n}\n' >shop_test.go
}
nodetest() {
	printf 'const test = require("node:test");\nfor (let i = 0; i < 30; i++) test("case " + i, (t, done) => setTimeout(done, i %% 5));\n' >a.test.js
}
pytests() {
	printf 'import unittest, time\nclass T(unittest.TestCase): pass\nfor i in range(40):\n    setattr(T, "test_%%02d" %% i, lambda self: time.sleep(0.001))\nunittest.main(verbosity=2)\n' >t.py
}
logging() {
	printf 'import logging, sys, time\nlogging.basicConfig(stream=sys.stdout, level=logging.INFO, format="%%(asctime)s %%(levelname)s %%(message)s")\nfor i in range(60):\n    logging.info("job %%d of 60 is done", i)\n    time.sleep(0.02)\n' >log.py
}
golog() {
	printf 'module example.com/srv\n\ngo 1.24\n' >go.mod
	printf 'package main\n\nimport (\n\t"log"\n\t"os"\n\t"time"\n)\n\nfunc main() {\n\tfor i := range 60 {\n\t\tif _, err := os.Stat("broken"); err == nil && i == 41 {\n\t\t\tlog.Printf("GET /items/%%d: 500 deadlock detected", i)\n\t\t\tcontinue\n\t\t}\n\t\tlog.Printf("GET /items/%%d: 200", i)\n\t\ttime.Sleep(10 * time.Millisecond)\n\t}\n}\n' >main.go
	go build -o srv .
}
gopanic() {
	printf 'module example.com/srv\n\ngo 1.24\n' >go.mod
	printf 'package main\n\nimport "strings"\n\ntype order struct{ items []string }\n\nfunc total(o *order, depth int) int {\n\tif depth > 0 {\n\t\treturn total(o, depth-1)\n\t}\n\treturn len(o.items[0])\n}\n\nfunc main() { total(&order{strings.Fields("")}, 12) }\n' >main.go
	go build -o srv .
}
bucket() { # objects with their sizes and the dates of their files
	mkdir -p b
	for i in {01..40}; do echo "$i" >"b/part-$i.csv"; touch -d "2026-10-$((10#$i % 28 + 1)) 04:0$((10#$i % 10)):11" "b/part-$i.csv"; done
}
s3ls='for f in b/*; do printf "%s %10d %s\n" "$(date -r "$f" "+%Y-%m-%d %H:%M:%S")" "$(stat -c %s "$f")" "${f#b/}"; done'
tree() {
	mkdir -p src/lib
	for i in {01..40}; do echo "$i" >"src/lib/mod$i.c"; touch -d "2026-09-$((10#$i % 28 + 1)) 10:2$((10#$i % 10)):33" "src/lib/mod$i.c"; done
}
commits() {
	git init -q -b main .
	for i in {01..30}; do GIT_AUTHOR_DATE="2026-08-$((10#$i % 28 + 1))T09:1$((10#$i % 10)):00Z" git commit -q --allow-empty -m "change $i"; done
}
table() { # DATE-FORMAT: a list of hosts with a date each
	for i in {01..30}; do echo "$(date -d "2026-12-01 +$((10#$i * 3)) days 03:00:00" "+$1") host$i.example.com"; done >list
}
export -f gotest nodetest pytests logging golog gopanic bucket tree commits table

pair noise-gotest '' gotest 'go test -count=1 -v ./...' true
pair noise-nodetest '' nodetest 'node --test --test-reporter=spec' true
pair noise-unittest '' pytests 'python3 t.py' true
pair noise-logging '' logging 'python3 log.py' true
pair noise-golog '' golog './srv' true
pair noise-panic '' gopanic './srv' true
pair noise-syslog '' true 'for i in {1..60}; do echo "$(date "+%b %e %T") web1 app[17]: request $i served"; done' true
pair noise-brackets '' true 'for i in {1..60}; do echo "[$(date +%T)] Finished task $i"; sleep 0.01; done' true

pair change-s3 'part-17.csv' bucket "$s3ls" 'touch b/part-17.csv'
# The one that is hidden: uploaded right before each run.
pair change-s3-each 'part-17.csv' bucket "touch b/part-17.csv; sleep 1; $s3ls" true
pair change-find 'src/lib/mod23.c' tree "find src -type f -printf '%TY-%Tm-%Td %TH:%TM:%.2TS %p\n' | sort -k3" 'touch src/lib/mod23.c'
pair change-find-plus 'src/lib/mod23.c' tree "find src -type f -printf '%T+ %p\n' | sort -k2" 'touch src/lib/mod23.c'
pair change-stat 'src/lib/mod23.c' tree "stat -c '%y %n' src/lib/*" 'touch -d "2026-09-05 11:11:11" src/lib/mod23.c'
pair change-gitlog 'change 30' commits "git log --date=iso --format='%ad %s'" 'git commit -q --amend --allow-empty --date=2025-08-03T09:10:00Z -m "change 30"'
pair change-expiry 'host14.example.com' 'table %F' 'cat list; true' 'sed -i "s/.* host14/2027-06-01 host14/" list'
pair change-schedule 'host14.example.com' 'table "%F %T"' 'cat list; true' 'sed -i "s/ 03:00:00 host14/ 04:00:00 host14/" list'
pair change-slow 'TestTotal/case30' 'gotest; touch slow' 'go test -count=1 -v ./...' 'rm slow'
pair change-hour 'job 0 runs' 'echo -5 >zone' 'for i in {0..39}; do echo "$(TZ="XXX$(cat zone)" date +%T) job $i runs"; done' 'echo -4 >zone'
pair change-error 'GET /items/41: 500 deadlock detected' golog './srv' 'touch broken'

for name in "${names[@]}"; do
	mkdir -p "$work/$name"
	(cd "$work/$name" && bash -c "${setup[$name]}") || echo "$name: no setup" >&2
	if [[ -n ${want[$name]} ]]; then echo "%want ${want[$name]}"; else echo %noise; fi >"$here/$name.txt"
done
for name in "${names[@]}"; do run "$name"; done
sleep 60
for name in "${names[@]}"; do
	(cd "$work/$name" && bash -c "${change[$name]}") || echo "$name: no change" >&2
	run "$name"
done
