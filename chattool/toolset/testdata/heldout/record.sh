#!/usr/bin/env bash
# Records what other tools print than those of ../corpus: bash record.sh
# One or some of them: bash record.sh bats javac
#
# These recordings judge the search for highlights and do not tune it. So their
# wanted lines were written before the search had seen them, and the search must
# not be changed because of them. ../corpus/record.sh says what the files are.
#
# It needs Debian and, as root, installs what is missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

need() {
	local command=$1
	shift
	if ! command -v "$command" >/dev/null; then
		apt-get update -qq
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@"
	fi
}
need gcc gcc libc6-dev
need shellcheck shellcheck
need cppcheck cppcheck
need mypy mypy
need rspec ruby-rspec
need phpunit phpunit
need bats bats
need ansible-playbook ansible-core
need valgrind valgrind
need prove perl
need javac default-jdk-headless
need psql postgresql postgresql-client

demo=$(mktemp -d)
chmod 755 "$demo"
server=
finish() {
	[[ -z $server ]] || as_postgres "$server/pg_ctl" -D "$demo/database" -m fast -s stop
	rm -rf "$demo"
}
trap finish EXIT
export HOME=$demo/home LC_ALL=C.UTF-8 TZ=UTC USER=user LOGNAME=user
mkdir -p "$HOME" "$demo/work"

# pipe records a command as a process manager runs it; see ../corpus/record.sh.
pipe() {
	local name=$1 command=$2 code=0 want rest=
	NO_COLOR=1 TERM=dumb PAGER=cat timeout 300 sh -c "${3:-$command}" </dev/null >"$demo/recording" 2>&1 || code=$?
	sed -e "s|$demo|/demo|g" "$demo/recording" | gzip -9n >"$here/$name.raw.gz"
	want="$here/$name.want"
	[[ ! -f $want ]] || rest=$(tail -n +3 "$want")
	printf 'exit %d\n$ %s\n' "$code" "$command" >"$want"
	[[ -z $rest ]] || printf '%s\n' "$rest" >>"$want"
	printf '%s: %d bytes, exit code %d\n' "$name" "$(wc -c <"$demo/recording")" "$code"
}

enter() {
	rm -rf "$demo/work/$1"
	mkdir -p "$demo/work/$1"
	cd "$demo/work/$1"
}

# A hundred scripts without quotes around variables; one has a real mistake.
record_shellcheck() {
	enter shellcheck
	local i
	for i in $(seq -w 120); do
		printf '#!/bin/bash\nfor f in $(ls *.txt); do\n  cp $f /backup/$1\ndone\n' >"job$i.sh"
		if [[ $i == 067 ]]; then
			printf 'rm -rf "$STEAMROOT/"*\n' >>"job$i.sh"
		fi
	done
	pipe shellcheck "shellcheck *.sh"
}

record_cppcheck() {
	enter cppcheck
	local i
	for i in $(seq -w 200); do
		cat >"part$i.c" <<-END
			#include <stdlib.h>
			int sum$i(int *list, int n) {
				int total = 0;
				int unused;
				for (int i = 0; i < n; i++) total += list[i];
				return total;
			}
		END
		if [[ $i == 093 ]]; then
			cat >>"part$i.c" <<-END
				int first$i(void) {
					int *p = 0;
					int list[4] = {0};
					list[4] = *p;
					return list[0];
				}
			END
		fi
	done
	pipe cppcheck "cppcheck --enable=all --suppress=missingIncludeSystem ."
}

record_mypy() {
	enter mypy
	local i
	for i in $(seq -w 700); do
		printf 'def load(path):\n    return open(path).read()\n\n\ndef size(path) -> int:\n    return len(load(path))\n' >"module_$i.py"
		if [[ $i == 665 ]]; then
			printf '\n\ndef total(prices: list[int]) -> int:\n    return sum(prices) + "0"\n' >>"module_$i.py"
		fi
		if [[ $i == 671 ]]; then
			printf '\n\nimport requests_that_do_not_exist\n' >>"module_$i.py"
		fi
	done
	pipe mypy "mypy --strict ."
}

record_rspec() {
	enter rspec
	mkdir spec
	local i
	for i in $(seq -w 25); do
		cat >"spec/part${i}_spec.rb" <<-END
			RSpec.describe "Part $i" do
				40.times do |n|
					it "adds number #{n} to the total and keeps its currency" do
						expect(n * 2).to eq(n == 31 && "$i" == "13" ? 61 : n + n)
					end
				end
			end
		END
	done
	pipe rspec "rspec --format documentation"
}

record_phpunit() {
	enter phpunit
	cat >CartTest.php <<-'END'
		<?php
		use PHPUnit\Framework\TestCase;
		final class CartTest extends TestCase {
			public static function items(): array {
				$all = [];
				for ($i = 0; $i < 700; $i++) $all["$i items with a rebate"] = [$i];
				return $all;
			}
			/** @dataProvider items */
			public function testTotal(int $n): void {
				if ($n === 311) intdiv($n, 0);
				if ($n === 402) $this->assertSame(804, $n + $n + 1);
				$this->assertSame(2 * $n, $n + $n);
			}
		}
	END
	pipe phpunit "phpunit --testdox CartTest.php"
}

record_bats() {
	enter bats
	{
		local i
		for i in $(seq 900); do
			printf '@test "invoice %d has the right total in every currency" {\n' "$i"
			if ((i == 417)); then
				printf '\trun echo 834\n\techo "got $output"\n\t[ "$output" = 835 ]\n'
			else
				printf '\ttrue\n'
			fi
			printf '}\n'
		done
	} >invoice.bats
	pipe bats "bats --formatter tap invoice.bats"
}

record_ansible() {
	enter ansible
	{
		printf -- '- hosts: localhost\n  connection: local\n  gather_facts: false\n  tasks:\n'
		local i
		for i in $(seq 240); do
			if ((i == 88)); then
				printf '    - name: restart the queue\n      ansible.builtin.command: /usr/bin/false --unit queue\n      ignore_errors: true\n'
			elif ((i == 191)); then
				printf '    - name: fetch the certificate\n      ansible.builtin.slurp:\n        src: /etc/ssl/private/shop.example.com.pem\n'
			elif ((i > 191)); then
				continue
			else
				printf '    - name: configure site %d of the shop\n      ansible.builtin.debug:\n        msg: "site %d is configured from template site.conf.j2, and answers for shop%d.example.com on port 443"\n' "$i" "$i" "$i"
			fi
		done
	} >site.yml
	pipe ansible "ansible-playbook -i localhost, -v site.yml"
}

record_valgrind() {
	enter valgrind
	cat >prog.c <<-'END'
		#include <stdio.h>
		#include <stdlib.h>
		#include <string.h>
		static int *make(int n) {
			int *p = malloc(n * sizeof *p);
			memset(p, 0, n * sizeof *p);
			return p;
		}
		static void late(int n) {
			int *p = make(n);
			p[n] = 7;
			free(p);
		}
		int main(void) {
			for (int i = 0; i < 900; i++) {
				printf("request %d: 200 OK, %d bytes in cache, queue is empty\n", i, i * 16);
				fflush(stdout);
				if (i == 401) late(10);
				if (i == 650) make(100);
			}
			return 0;
		}
	END
	gcc -g -O0 -o prog prog.c
	pipe valgrind "valgrind --leak-check=full ./prog" "valgrind --leak-check=full ./prog 2>&1 | sed 's/==[0-9]*==/==4711==/'"
}

record_sanitizer() {
	enter sanitizer
	cat >prog.c <<-'END'
		#include <limits.h>
		#include <stdio.h>
		#include <stdlib.h>
		static int scale(int pixels, int factor) { return pixels * factor; }
		int main(void) {
			for (int i = 0; i < 1200; i++) {
				int factor = i == 515 ? INT_MAX : 3;
				fprintf(stderr, "frame %04d scaled to %d pixels in 0.%02d s\n", i, scale(i, factor), i % 50);
				if (i == 1100) {
					char *row = malloc(64);
					row[64] = 1;
					free(row);
				}
			}
		}
	END
	gcc -g -O0 -fsanitize=address,undefined -o prog prog.c
	pipe sanitizer "./prog" "./prog 2>&1 | sed -e 's/0x[0-9a-f]*/0x602000000050/g' -e 's/==[0-9]*==/==4711==/'"
}

as_postgres() { setpriv --reuid postgres --regid postgres --init-groups "$@"; }

record_psql() {
	enter psql
	server=$(dirname "$(find /usr/lib/postgresql -name pg_ctl | sort | tail -1)")
	mkdir "$demo/database"
	chown postgres "$demo/database"
	as_postgres "$server/initdb" -D "$demo/database" -A trust >/dev/null
	as_postgres "$server/pg_ctl" -D "$demo/database" -o "-k $demo/database -h ''" -w -s -l "$demo/database/log" start
	{
		printf 'CREATE TABLE customer (id int PRIMARY KEY, name text NOT NULL);\n'
		local i
		for i in $(seq 1800); do
			case $i in
			700) printf 'INSERT INTO customer VALUES (350, $$Grace$$);\n' ;;
			1111) printf 'INSERT INTO customers VALUES (1111, $$Ada$$);\n' ;;
			*) printf 'INSERT INTO customer VALUES (%d, $$Customer %d$$) RETURNING id;\n' "$i" "$i" ;;
			esac
		done
	} >load.sql
	pipe psql "psql -f load.sql shop" "psql -h $demo/database -U postgres -f load.sql postgres"
	as_postgres "$server/pg_ctl" -D "$demo/database" -m fast -s stop
	server=
}

record_prove() {
	enter prove
	mkdir t
	local i
	for i in $(seq -w 30); do
		cat >"t/part$i.t" <<-END
			use Test::More tests => 40;
			for my \$n (1 .. 40) {
				is(\$n * 2, "$i" eq "17" && \$n == 23 ? 45 : \$n + \$n, "part $i doubles \$n in the ledger");
			}
		END
	done
	pipe prove "prove -v t"
}

record_javac() {
	enter javac
	local i
	for i in $(seq -w 150); do
		cat >"Part$i.java" <<-END
			import java.util.*;
			class Part$i {
				List names = new ArrayList();
				void add(String name) { names.add(name); }
				Thread worker = new Thread();
				void stop() { worker.stop(); }
			}
		END
		if [[ $i == 077 ]]; then
			sed -i 's/names.add(name)/names.add(nmae)/' "Part$i.java"
		fi
	done
	pipe javac "javac -Xlint:all -Xmaxwarns 1000 *.java"
}

record_java() {
	enter java
	cat >Server.java <<-'END'
		import java.util.*;
		public class Server {
			static final Map<Integer, String> sessions = new HashMap<>();
			static String handle(int n) {
				if (n == 903) return sessions.get(n).trim();
				return "session " + n;
			}
			public static void main(String[] args) {
				for (int n = 0; n < 1500; n++) {
					System.out.printf("12:%02d:%02d.%03d INFO  [worker-%d] GET /orders/%d 200 %d ms%n", n / 60 % 60, n % 60, n % 1000, n % 8, n, n % 37);
					try {
						handle(n);
					} catch (RuntimeException e) {
						System.out.printf("12:15:03.903 ERROR [worker-7] GET /orders/%d 500%n", n);
						e.printStackTrace(System.out);
					}
				}
			}
		}
	END
	pipe java "java Server.java"
}

all=(shellcheck cppcheck mypy rspec phpunit bats ansible valgrind sanitizer psql prove javac java)
(($# == 0)) || all=("$@")
for name in "${all[@]}"; do
	cd "$demo/work"
	"record_$name"
done
