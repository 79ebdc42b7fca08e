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
// Ctrl-C stops the turn with the command that it waits for, and the model reads
// about it with your next prompt. What runs in the background goes on. Between two
// turns, or without prompts from stdin, Ctrl-C ends the agent. Processes that still
// run in the background end with it.
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
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
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
	ctx, end := interrupt.Context()
	defer end()
	show.gone = end
	interrupts := make(chan os.Signal, 1)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)

	model, err := newModel(ctx, *provider, *baseURL, *name)
	if err != nil {
		return err
	}
	dir, ends := "", "ends now"
	if *keep {
		ends = "goes on"
		if dir, err = keepDir(); err != nil {
			return err
		}
	}
	host, err := newHost(ctx, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, host.Close()) }()
	manager := host.Chat(*chat)
	defer func() { // also after the end of ctx
		list, listErr := living(context.Background(), manager, ends)
		show.print(list)
		err = errors.Join(err, listErr)
	}()

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
	s, err := newSession(model, manager, newCursor(dir, *chat), show, opts, *maxTokens, *maxSteps)
	if err != nil {
		return err
	}
	defer func() { _ = s.set.Close() }()
	s.interrupts = interrupts
	if *keep {
		left, err := already(ctx, manager)
		if err != nil {
			return err
		}
		if left != "" {
			s.history = append(s.history, fantasy.NewUserMessage(left))
			show.note("%s", left)
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

// newHost returns the host of this run, or with a directory the keeper of all runs of
// this user.
func newHost(ctx context.Context, dir string) (host, error) {
	if dir == "" {
		return proclocal.New(nil)
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
