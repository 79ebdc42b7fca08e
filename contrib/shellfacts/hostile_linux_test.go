package shellfacts_test

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/toolproc/toolproc/contrib/shellfacts"
)

// cores are commands that do, or may do, more than they seem to, besides the ones of
// refused.tsv. @ stands for what an attacker wants to run.
var cores = []string{
	`printf '%5n' PATH; ls`, `printf '%ln' 'a[$(@)]'`, `printf -- '%n' 'a[$(@)]'`, `printf "%n" "a[\$(@)]"`, `printf %n PATH`, `printf '%%%n' PATH; ls`,
	"cat <<'EOF'\nx\nEOF \n@\nEOF", "cat <<'EOF' | cat\nx\nEOF\n@", "cat <<\\EOF\n$(@)\nEOF",
	"cat <<-'EOF'\n\tx\n\tEOF\n@", "cat <<-'EOF'\n x\n EOF\n@\nEOF", "cat <<'A' <<'B'\nB\nA\n@\nB", "cat <<'EOF' 'a\nEOF\n'\n@\nEOF", "cat <<'EOF' # x\\\n@\nEOF",
	"cat <<'EOF'; @\nx\nEOF", "(cat <<'EOF'\n)\nEOF\n@)", "cat << 'EOF'\n'\nEOF\n@ #'", "cat <<\"EOF\"\n\"\nEOF\n@",
	`cd / && sort -o dev/stdin /etc/hosts < f`,
	`cd nosuch && true; touch P`, `cd sub && ls; touch P`, `cd sub && ls & touch P`, `cd sub || exit 1; touch P`, `(cd sub && touch P); touch P`,
	`cd sub && (cd dir && touch P); touch P`, `cd sub && echo x &> P`, `cd sub && sh -c 'cd dir && touch P'`, `env cd sub; touch P`,
	`cd . && touch P`, `cd sub || exit 1 && touch P`, `cd nothing || exit 1 && touch P; touch Q`, `cd sub/../.. && touch up/work/P`, `cd ./sub/ && touch P`, `cd .. && touch P`, `cd ../work/sub && touch ../P`, `cd ./.. && touch work/P`, `cd sub/.. && touch P`, `cd . && touch P`, `cd sub/dir/.. || exit; touch P`, `cd ../.. && touch up/work/sub/P`, `cd / && touch tmp/nothing-here/P`, `cd nosuch || exit $?; touch P`, `cd sub || exit;; touch P`,
	`{a[x]}<f echo`, `echo 2>PWNED`, `echo a2>PWNED`, `echo \2>PWNED`, `echo '2'>PWNED`, `echo 2>&PWNED`, `echo >& 2`, `echo 2>&1PWNED`, `echo >&1-`, `ls 2>&-`, `echo &>PWNED`, `echo &>>PWNED`, `echo &> PWNED &`, `echo x&>PWNED&& ls`, `2>PWNED`, `>PWNED`, `< f > PWNED`, `ls > f > PWNED`, `ls >'PWNED'`, `ls >P"W"NED`, `ls >{a,b}`, `ls >~`, `ls >$v`, `ls > PWNED > /dev/null`,
	`time @`, `ls | time @`, `nm --plugin ./x.sh f`, `alias ls='@'; ls`,
	`[ 'a[$(@)]' -eq 1 ]`, `[ -R 'a[$(@)]' ]`, `[ -t 'a[$(@)]' ]`, `[ f -nt 'a[$(@)]' ]`,
	`((1))`, `ls ;& @`, `wait -p 'a[$(@)]' -n`, `wait -n $!`, `exit 'a[$(@)]'`, `kill 'a[$(@)]'`, `unset 'a[$(@)]'`, `getopts a 'x[$(@)]'`, `enable -f ./x.sh x`, `bind -x '"a":@'`, `complete -C '@' x`, `fc -e '@'`, `shopt -s extglob; ls !(@)`, `ls @(f)`, `ls !(f)`, `help @`,
	`PATH=. ls`, `IFS=u; x=touchuPWNED; $x`, `x=@; $x`, `$x`, `"$x"`, `tou[c]h PWNED`, `~/x.sh`, `./x.sh`, `%1`, `!touch`, `-x`, `''`, `[ touch PWNED`, `echo a}; @`, `echo {; @`, `} ; @`, `{ @ }`, `then @`, `do @`, `fi; @`, `in @`, `if @; then :; fi`, `if :; then :; else @; fi`, `if :; then if :; then @; fi; fi`, `while @; do exit; done`, `for v in a; do @; done`, `for v; do @; done`, `for v in a
do @; done`, `for v in a b & do @; done`, `for PATH in .; do ls; done`, `for v in a;
do
@
done`, `( @ )`, `(@)`, `( (@) )`, `{ @; }`, `{@;}`, `!{ @; }`, `! { @; }`, `!(@)`, `! @`, `true && ! @`, `true | ! @`, `ls &&& @`, `ls ||| @`, `ls ;; @`, `ls & & @`, `ls & ; @`, `ls &; @`, `; @`, `& @`, `ls; ; @`, `ls &&
@`, `ls |

@`, `ls # && x
@`, `ls \
&& @`, `ls '
'; @`, `ls "
"; @`, `ls a#b; @`, `ls ';' @`, `ls \; @`, `ls "\\"; @ #"`, `ls "\"; @ #"`, `ls '\'; @ #'`, `ls "'"; @ #'"`, `ls '"'; @ #"'`, `ls \'; @ #\'`, "ls \"`echo \\\"; @ #\"", `ls "$"; @`, `ls "a$|b"; @`, `ls ${x}; @`, `ls ${x; @`, `ls ${}; @`, `ls "${x}"'; @'`, `ls $'; @'`, `ls "$\"; @"`, `ls "$\\"; @`, `ls a"b'c"d'; @'`,
	`rm -f *`, `sort -- *`, `sort ./*`, `sort $v`, `sort "$v"`, `sort ""$v`, `sort {-o,PWNED,f}`, `sort f{,} `, `sort ~`, `sort -o{a,b} f`, `tee {a,b} < f`, `tee a{b,c}d < f`, `touch {1..3}`, `touch a{1..3}`, `touch {a`, `touch a}`, `touch {}`, `touch {a}`, `touch {a,b`, `touch {'a,b'}`, `touch {a\,b}`, `touch "{a,b}"`, `touch {a,"b c"}`, `touch {a..b}`, `touch a..b`, `touch a,b`, `touch ~`, `touch a~`, `touch "~"`, `touch \~`, `touch ~-/P`, `touch ~root`, `touch -- -x`, `touch \-x`, `touch a\ b`, `touch \*`, `touch '*'`, `touch [`, `touch a]`, `touch ^a`, `touch !a`, `touch %a`, `touch @a`, `touch a=b`, `touch +a`, `touch é`, "touch \u00e9\u0301", "touch \u3164", `touch $`, `touch a$`, `touch "a$"`, `touch a$ b`, `touch "$ a"`, `touch '$a'`, `touch "\$a"`, `touch "\a"`, `touch "\\a"`, "touch \"\\`a\"", `touch "a\"b"`, `touch ""`, `touch ''a`, `touch a""`, `touch "a"'b'c\d`,
	`sh -c '@'`, `sh -c "@"`, `bash -c '@'`, `dash -c '@'`, `sh -c 'sh -c "@"'`, `sh -c '"$@"' x @`, `sh -c 'ls > f' > g`, `sh -ec '@'`, `sh -c '@' &`, `sh x.sh`, `find . -maxdepth 0 -exec sh -c '@' \;`, `find . -maxdepth 0 -exec sh -c "{}" \;`, `find . -maxdepth 0 -exec @ \;`, `find . -maxdepth 0 -exec @ ';'`, `find . -maxdepth 0 -exec @ +`, `find . -maxdepth 0 -fprintf PWNED x`, `find . -maxdepth 0 $v`, `env @`, `env -i @`, `env PATH=. ls`, `env -C sub ls > P`, `timeout 5 @`, `timeout 5 sh -c '@'`, `nice @`, `nohup @`, `setsid -w @`, `stdbuf -oL @`, `flock f @`, `busybox @`, `busybox sh -c '@'`, `rmdir -p sub/dir`,
	`awk -f script.awk`, `awk "$x"`, `awk 1 f > PWNED`, `sed -i s/x/y/ f`, `sed --in-place=.bak s/x/y/ f`, `sed -n '$p' f`, `sed -s -i -e p f g`, `sed "$v" f`, `sed -f script.sed f`, `sed 'y/x/w PWNED/' f`,
	`cp f PWNED`, `cp f sub`, `cp f g sub`, `cp -t sub f`, `mv f PWNED`, `ln -s f PWNED`, `ln f PWNED`, `ln -s sub l && touch l/P`, `install f PWNED`, `install -d PWNED`, `tee PWNED < f`, `tee -a f < g`, `sort -o PWNED f`, `sort f -oPWNED`, `sort --outp=PWNED f`, `uniq f PWNED`, `shuf -o PWNED f`, `tar cf PWNED f`, `tar czf PWNED f`, `tar xf PWNED`, `truncate -s0 f`, `xxd f PWNED`, `base64 f > PWNED`, `tree -o PWNED`, `lsof -DbPWNED`, `file -C -m f`, `rg -z x`, `jq -n 1 > PWNED`, `curl -o PWNED file:///etc/hosts`, `git diff --no-index --output=PWNED /dev/null f`, `make -f /dev/null`,
	"ls\r@", "ls\x00@", "ls\v@", "ls\f@", "ls\u00a0@", "ls\u2028@", "ls\u0085@", "ls \u202e @", "ls \x01 @", "ls \x7f @", "\ufeff@", "ls\t@", "ls \t; @", "ls;\t@", "\n\n@", " @", "ls \xff; @",
	`echo $HOME $IFS $_ $RANDOM $BASH_COMMAND $PS4 $0 $1 $! $$ $- $@ $*`, `echo "$HOME" "$IFS" "$_" $RANDOM "$BASH_COMMAND" "$PS4" "$1" "$!" "$$" $?`, `echo $LINENO$SECONDS`, `touch "$HOME"`, `cat $_`, `rm -f $_`, `ls "$@"`, `echo ${!v}`, `echo ${v@P}`, `echo ${v@E}`, `echo ${v/$(@)/x}`, `echo ${v:0}`, `echo ${v:a[$(@)]}`, `echo ${PATH:=x}`, `echo $v[1]`,
}

// around are texts around a core, which stands for #.
var around = []string{
	"#", "#", "#", "true; #", "true && #", "false || #", "true | #", "true & #\nwait", "( # )", "(#)", "{ #; }", "{ #\n}", "! #", "if true; then #; fi", "if #; then :; fi", "for v in a b; do #; done", "for v in '-o' 'PWNED'; do #; done",
	"while #; do exit; done", "until #; do exit; done", "cd sub && #", "cd sub || exit 1; #", "cd sub || exit\n#", "(cd sub && #)", "cd sub && true; #", "# > /dev/null", "# 2>&1", "# 2>&1 | cat", "# < f", "# <<'X'\n$(touch PWNED)\nX", "# # comment", "#\n", "# &\nwait", "# && echo \"$?\"", "#; exit 3; touch X", "cat <<'X' && #\nX\ntrue", "cat <<'X'\n#\nX\n#", "sh -c '#'", "bash -c \"#\"", "sh -c '# '; touch Y", "sh -c 'cd sub && #'", "echo '#'", "echo \"#\"", "echo #", "echo f | xargs #", "timeout 5 #", "env #", "time #", "# # '", "# # \"", "'' #", "echo a \\\n; #", "touch Z; # || touch W", "ls * {a,b} ~ \"$v\" ; #",
}

// wants are what an attacker wants to run.
var wants = []string{"touch PWNED", "touch PWNED", ">PWNED", ": > PWNED", "cp f PWNED", "./x.sh", "cd sub"}

// tokens make texts that hardly are one, in which shells and a reader may lose each
// other.
var tokens = strings.Split(`touch|touch|touch|echo|cat|ls|true|:|f|g|P|PWNED|sub|a|b|'|'|'|"|"|"|\|\|'a b'|"a"|"$v"|$v|$|$?|${v}|$(|)|(|(|{|}|{ | }|; }|{a,b}|;|;|;|&|&&|;;|<|>|> P|>>|2>|2>&1|>&2|>&|&>|&> P|1|2|#| #|<<'E'|<<'E'|<<-'E'|<<"E"|if|then|; then|else|fi|; fi|for v in|do|; do|done|; done|while|until|!|! |time|in|[|]|[ -e f ]|*|?|~|=|x=|-|-o|--|sh -c|env|timeout 5|find . -maxdepth 0 -exec|\;|{}|+|xargs|cd sub &&|cd sub|exit|printf|%n|/dev/stdin|/dev/null|sort -o|tee|^|@|é|0|3`, "|")

// hostile puts a text of cores, or of tokens, together.
func hostile(cores []string, seed uint64) string {
	r := rand.New(rand.NewPCG(seed, 7))
	pick := func(from []string) string { return from[r.IntN(len(from))] }
	var text string
	switch seed % 3 {
	case 0, 1:
		text = pick(around)
		for strings.Contains(text, "#") && r.IntN(8) > 0 {
			core := strings.ReplaceAll(pick(cores), "@", pick(wants))
			text = strings.Replace(text, "#", core, 1)
			if !strings.Contains(core, "#") {
				continue
			}
			break
		}
	case 2:
		var b strings.Builder
		for range 3 + r.IntN(12) {
			b.WriteString(pick(tokens))
			switch r.IntN(12) {
			case 0:
				b.WriteString("\n")
			case 1, 2:
			case 3:
				b.WriteString("\nE\n")
			default:
				b.WriteString(" ")
			}
		}
		text = b.String()
	}
	// A letter is lost, doubled or swapped.
	if n := len(text); n > 2 && r.IntN(3) == 0 {
		switch at := r.IntN(n - 1); r.IntN(4) {
		case 0:
			text = text[:at] + text[at+1:]
		case 1:
			text = text[:at+1] + text[at:]
		case 2:
			text = text[:at] + pick(strings.Split("'|\"|\\|\n|;|&|$|{|}|(|)|<|>| |#|`|!|-|\\\n", "|")) + text[at:]
		case 3:
			text = text[:at] + text[at+1:at+2] + text[at:at+1] + text[min(at+2, n):]
		}
	}
	return text
}

// attack runs the texts that are complete, and compares. It returns how many these are.
func attack(t *testing.T, texts func(i int) (string, bool)) int {
	t.Helper()
	programs(t, "bash", "dash")
	oracles := []*oracle{newOracle(t, "bash"), newOracle(t, "dash")}
	var complete atomic.Int64
	var workers sync.WaitGroup
	var mu sync.Mutex // guards next
	next := 0
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for {
				mu.Lock()
				i := next
				next++
				mu.Unlock()
				text, ok := texts(i)
				if !ok {
					return
				}
				for _, shell := range oracles {
					o := *shell
					facts := shellfacts.Parse(text, o.shell)
					if !facts.Complete || unsafe(text) {
						continue
					}
					complete.Add(1)
					deeds := o.deeds(t, text, workspace(t))
					why := o.unknown(facts, deeds)
					if why == "" && o.shell == "bash" { // the lines of dash mix
						why = traced(facts, o.trace)
					}
					if why != "" {
						t.Errorf("%d, %s: %q: %s\n%+v", i, o.shell, text, why, facts)
					}
				}
			}
		})
	}
	workers.Wait()
	return int(complete.Load())
}

// Each core is either not complete, or does what its facts say.
func TestHeldCores(t *testing.T) {
	held(t)
	t.Parallel()
	require.NotZero(t, attack(t, func(i int) (string, bool) {
		if i >= len(cores)*2 {
			return "", false
		}
		return strings.ReplaceAll(cores[i/2], "@", wants[i%2*2]), true
	}))
}

func TestHeldHostileTexts(t *testing.T) {
	held(t)
	t.Parallel()
	all := slices.Clone(cores)
	for _, command := range commands(t, "refused.tsv") {
		all = append(all, strings.ReplaceAll(command, "touch PWNED", "@"))
	}
	n := rounds(1000, 30_000)
	complete := attack(t, func(i int) (string, bool) { return hostile(all, uint64(i)), i < n })
	t.Logf("%d of %d readings are complete", complete, 2*n)
	require.Greater(t, complete, n/20)
}
