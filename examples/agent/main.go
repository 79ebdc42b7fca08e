// Command agent is an agent for the terminal, made of charm.land/fantasy with
// its providers and the tools of package chattool. It shows the words of the
// model as they come. While a command runs, it shows the newest line of its
// output.
//
//	cd examples/agent
//	go run . -provider anthropic -model claude-sonnet-4-5 'Do the tests pass?'
//	go run . -provider openai -model gpt-5.2
//	go run . -provider openaicompat -base-url http://127.0.0.1:8080/v1 -model qwen3
//
// Without a prompt as its argument it reads prompts from stdin, one in each
// line. If a background process ends meanwhile, the model is told, and goes to
// work by itself. The key comes from OPENAI_API_KEY or ANTHROPIC_API_KEY.
// Commands do not get the key: by default, a manager withholds variables that
// look like secrets from them.
//
// Ctrl-C stops the commands that run, and the model reads about it. If no
// command runs, or at the second Ctrl-C, it ends the agent. Processes that
// still run in the background end with the agent.
//
// With -keep they do not: they go on, however the agent ends, and the next run
// with -keep and the same -chat has them again. Its model is told which of them
// run, and which have ended meanwhile.
//
// With -input the model can answer the questions of commands, and use programs
// that need a terminal, such as a debugger. With -view you see on a page what the
// processes print, and what of it the model has read.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/anthropic"
	"charm.land/fantasy/providers/openai"
	"charm.land/fantasy/providers/openaicompat"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/procview"
	"github.com/toolproc/toolproc/examples/internal/interrupt"
	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/prockeep"
	"github.com/toolproc/toolproc/procmgr/proclocal"
)

func main() {
	prockeep.Main() // with -keep, this program is also the keeper of its processes
	err := run(os.Args[1:], os.Stdin, newScreen(os.Stdout, isTerminal(os.Stdout)))
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "agent:", err)
		os.Exit(1)
	}
}

func run(args []string, in io.Reader, show *screen) (err error) {
	flags := flag.NewFlagSet("agent", flag.ContinueOnError)
	provider := flags.String("provider", "openai", "`name`: openai, openaicompat or anthropic")
	name := flags.String("model", "", "`name` of the model")
	baseURL := flags.String("base-url", "", "`URL` of the provider's API; none: the provider's own")
	maxTokens := flags.Int64("max-tokens", 16_000, "`number` of tokens that one answer may have")
	maxSteps := flags.Int("max-steps", 100, "`number` of answers to one prompt after which to pause")
	keep := flags.Bool("keep", false, "keep processes when the agent ends, for its next run")
	chat := flags.String("chat", "agent", "`name` of the conversation that processes belong to")
	input := flags.Bool("input", false, "let the model answer questions of commands, and use programs at a terminal")
	view := ""
	flags.BoolFunc("view", "serve a page that shows the processes, and print its URL; -view=`ADDRESS` of the loopback is where", func(address string) error {
		if address == "true" { // the flag alone
			address = "127.0.0.1:0"
		}
		view = address
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, end := context.WithCancel(context.Background())
	defer end()
	stop := &interrupt.Handler{End: end}
	show.gone = end
	defer stop.Watch()()

	model, err := newModel(ctx, *provider, *baseURL, *name)
	if err != nil {
		return err
	}
	host, err := newHost(ctx, *keep)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	manager := host.Chat(*chat)
	if *keep {
		defer show.running(manager, "goes on")
	} else {
		defer show.running(manager, "ends now")
	}

	from, err := newCursor(*keep, *chat)
	if err != nil {
		return err
	}
	opts := &toolset.Options{Input: *input}
	if view != "" {
		var page *procview.Server
		if page, err = procview.Serve(ctx, host, view); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, page.Close()) }()
		opts.OnResult = page.View.Result
		show.note("the page is %s", page.URL)
	}
	s, err := newSession(model, manager, from, stop, show, opts, *maxTokens, *maxSteps)
	if err != nil {
		return err
	}
	if *keep {
		if s.already, err = already(ctx, manager); err != nil {
			return err
		}
		if s.already != "" {
			show.note("%s", s.already)
		}
	}
	if prompt := strings.Join(flags.Args(), " "); prompt != "" {
		return s.turn(ctx, prompt)
	}
	s.talk(ctx, in)
	return nil
}

// A host runs the commands. Close ends its processes, unless they are kept.
type host interface {
	procmgr.Host
	Close() error
}

// newHost returns the host of this run, or the keeper of all runs of this user.
func newHost(ctx context.Context, keep bool) (host, error) {
	if !keep {
		return proclocal.New(nil)
	}
	dir, err := keepDir()
	if err != nil {
		return nil, err
	}
	return prockeep.Open(ctx, dir, nil)
}

// newModel returns a model of one of the providers of fantasy.
func newModel(ctx context.Context, provider, baseURL, name string) (fantasy.LanguageModel, error) {
	if name == "" {
		return nil, errors.New("-model is missing")
	}
	variable := "OPENAI_API_KEY"
	if provider == anthropic.Name {
		variable = "ANTHROPIC_API_KEY"
	}
	key := os.Getenv(variable)
	if key == "" && baseURL == "" {
		return nil, xerrors.Errorf("there is no key in %s", variable)
	}
	var (
		from fantasy.Provider
		err  error
	)
	switch provider {
	case openai.Name:
		from, err = openai.New(openai.WithAPIKey(key), openai.WithBaseURL(baseURL))
	case "openaicompat", openaicompat.Name:
		if baseURL == "" {
			return nil, errors.New("-base-url is missing: openaicompat has no URL of its own")
		}
		from, err = openaicompat.New(openaicompat.WithAPIKey(key), openaicompat.WithBaseURL(baseURL))
	case anthropic.Name:
		// Its client asks for a key, even if the server at baseURL wants none.
		from, err = anthropic.New(anthropic.WithAPIKey(cmp.Or(key, "none")), anthropic.WithBaseURL(baseURL))
	default:
		err = xerrors.Errorf("there is no provider %q; there are openai, openaicompat and anthropic", provider)
	}
	if err != nil {
		return nil, err
	}
	return from.LanguageModel(ctx, name)
}

// lines returns the lines that are typed, until the input or ctx ends. If no more lines
// come, the goroutine that reads stays until the program ends.
func lines(ctx context.Context, in io.Reader) <-chan string {
	typed := make(chan string)
	go func() {
		defer close(typed)
		for scanner := bufio.NewScanner(in); scanner.Scan(); {
			select {
			case typed <- scanner.Text():
			case <-ctx.Done():
				return
			}
		}
	}()
	return typed
}
