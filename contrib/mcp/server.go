package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolproc/toolproc/chattool/toolset"
	"github.com/toolproc/toolproc/contrib/shellfacts/policy"
	"github.com/toolproc/toolproc/procmgr"
)

// instructions tell a model how the tools belong together. The description of
// each tool says what it does.
const instructions = `These tools run shell commands and keep track of every process that they start. ` +
	`execute waits for a command up to its timeout; one that takes longer is not killed but goes on in the background, and the result has its process_id: ` +
	`never run it again, follow it with process_output and end it with process_signal. ` +
	`Start servers, watchers and long jobs with run_in_background. ` +
	`process_list shows what this session has started, in case an id is lost. ` +
	`All processes `

// annotations are hints for the client. It may ask its user before a
// destructive tool, and run a read-only tool without asking.
var annotations = map[string]*mcp.ToolAnnotations{
	"execute":        {Title: "Run a command", DestructiveHint: new(true), OpenWorldHint: new(true)},
	"process_output": {Title: "Read a process's output", ReadOnlyHint: true, OpenWorldHint: new(false)},
	"process_list":   {Title: "List processes", ReadOnlyHint: true, OpenWorldHint: new(false)},
	"process_signal": {Title: "End a process", DestructiveHint: new(true), OpenWorldHint: new(false)},
	"process_input":  {Title: "Write to a process", DestructiveHint: new(true), OpenWorldHint: new(true)},
}

// A server gives the tools to each of its MCP sessions, in a chat of its own.
type server struct {
	mcp    *mcp.Server
	host   procmgr.Host
	dir    string // in which commands run that name none; "" if it isn't known
	kept   bool   // processes outlive their session
	chatID func(sessionID string) string
	tools  *toolset.Set
	log    *slog.Logger

	mu    sync.Mutex // guards chats
	chats map[*mcp.ServerSession]*chat
}

// A chat is what a session has.
type chat struct {
	manager procmgr.Manager
	policy  *policy.AllowList // for -ask
	ending  context.Context   // ends shortly before the session does
	end     context.CancelFunc
}

// chatKey is the key of the chat in the context of a call.
type chatKey struct{}

// newServerWith returns a server with options of the tools, whose sessions run their
// commands on host. chatID returns the ID of a session's chat; see stdioChat and httpChat.
func newServerWith(host procmgr.Host, chatID func(sessionID string) string, opts toolset.Options, log *slog.Logger) (s *server, err error) {
	_, outlives := host.(persistentHost)
	s = &server{host: host, kept: outlives, chatID: chatID, log: log, chats: make(map[*mcp.ServerSession]*chat)}
	lifetime := "end with the session."
	if s.kept {
		lifetime = "outlive the session, and process_list shows those of the sessions before."
	}
	serverOpts := &mcp.ServerOptions{
		Instructions: instructions + lifetime,
		Logger:       log,
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, // the tools never change
	}
	if opts.Approve != nil {
		serverOpts.SupportedProtocolVersions = versionsThatAsk()
	}
	s.mcp = mcp.NewServer(&mcp.Implementation{Name: "toolproc", Version: "0.1.0"}, serverOpts)
	// For the description, which is asked for before there is a session. If it
	// cannot be told, the description says so.
	machine, _ := host.Describe(context.Background())
	opts.Shell = machine.Shell
	// The ID is known before the command starts, so that progress can use it.
	opts.ProcessID = func(_ context.Context, c toolset.Call) string { return c.ID }
	s.tools, err = toolset.New(resolve, &opts)
	if err != nil {
		return nil, err
	}
	for _, def := range s.tools.Definitions() {
		s.mcp.AddTool(&mcp.Tool{
			Name:        def.Name,
			Description: def.Description,
			InputSchema: def.Schema,
			Annotations: annotations[def.Name],
		}, s.call)
	}
	return s, nil
}

// resolve returns the Manager of the chat that call has put into the context.
func resolve(ctx context.Context) (procmgr.Manager, error) {
	chat, ok := ctx.Value(chatKey{}).(*chat)
	if !ok {
		return nil, errors.New("the call belongs to no session")
	}
	return chat.manager, nil
}

// call carries out one tool call. It returns no error: in every case the model
// gets a result to read. If the client cancels the call, the SDK ends ctx, and
// the toolset stops a foreground command.
func (s *server) call(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	chat := s.chatOf(req.Session)
	ctx, cancel := context.WithCancel(context.WithValue(ctx, chatKey{}, chat))
	defer cancel()
	defer context.AfterFunc(chat.ending, cancel)() // a call ends with its session

	c := toolset.Call{ID: procmgr.NewID(), Name: req.Params.Name, Arguments: req.Params.Arguments}
	stop := reportProgress(ctx, req, chat.manager, c)
	res := s.tools.Call(ctx, c)
	stop() // no notification may come after the result
	return &mcp.CallToolResult{
		Content:           []mcp.Content{&mcp.TextContent{Text: res.Content}},
		StructuredContent: res.Report, // the JSON of the result, whatever the form of its text
		IsError:           res.IsError,
	}, nil
}

// stdioChat returns the ID of the only chat over stdio, where sessions have no
// ID.
func stdioChat(string) string { return "stdio" }

// httpChat makes the ID of a chat from the ID of its session, which the SDK has
// made of 128 random bits. The chat ID is a hash: commands see it in their
// environment, and must not learn the session ID. A session without an ID gets
// no chat: a Manager refuses every call for the chat "".
func httpChat(sessionID string) string {
	if sessionID == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(sessionID))
	return "mcp-" + hex.EncodeToString(sum[:16])
}

// chatOf returns the chat of a session. The first call for a session also
// starts the goroutine that cleans up after the session, and that ends with it.
// If the session ends because the program ends, Local.Close does its work.
func (s *server) chatOf(session *mcp.ServerSession) *chat {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.chats[session]
	if c == nil {
		c = &chat{manager: s.host.Chat(s.chatID(session.ID())), policy: policy.NewAllowList(policy.ReadOnly(), elicit(session))}
		c.policy.WorkDir = s.dir
		c.ending, c.end = context.WithCancel(context.Background())
		s.chats[session] = c
		go s.cleanUp(session, c)
	}
	return c
}

// cleanUp ends the processes of a session that has ended: no client can reach
// them any more.
func (s *server) cleanUp(session *mcp.ServerSession, c *chat) {
	_ = session.Wait() // until the last call has returned; how the session ended does not matter
	c.end()
	if s.kept {
		return // and the program ends
	}
	if err := endAll(c.manager, stopGrace); err != nil {
		s.log.Warn("a session has left processes behind", slog.String("error", err.Error()))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.chats, session)
}

// endSession prepares the end of the session with the ID. The SDK waits for the
// running calls before it closes a session, and endSession makes them return.
func (s *server) endSession(id string) {
	for session := range s.mcp.Sessions() {
		if session.ID() == id {
			s.chatOf(session).end()
		}
	}
}

// endAll ends all processes of a chat at once. It takes at most grace and the 5
// s that Kill may take.
func endAll(m procmgr.Manager, grace time.Duration) error {
	ctx, cancel := context.WithTimeout(context.Background(), grace+6*time.Second)
	defer cancel()
	page, err := m.List(ctx, procmgr.ListRequest{})
	if err != nil {
		return err
	}
	errs := make([]error, len(page.Processes))
	var ends sync.WaitGroup
	for i, p := range page.Processes {
		if p.State != procmgr.Exited {
			ends.Go(func() { errs[i] = end(ctx, m, p.ID, grace) })
		}
	}
	ends.Wait()
	return errors.Join(errs...)
}

// end terminates a process, and kills it if that was not enough.
func end(ctx context.Context, m procmgr.Manager, id string, grace time.Duration) error {
	if err := m.Signal(ctx, id, procmgr.Terminate); err == nil {
		waiting, cancel := context.WithTimeout(ctx, grace)
		defer cancel()
		// A wait ends as soon as the shell does, but children may be left.
		for {
			out, err := m.Output(waiting, id, procmgr.OutputRequest{From: math.MaxInt64, Wait: grace})
			if err != nil || out.Process.State == procmgr.Exited {
				break
			}
		}
	}
	if err := m.Signal(ctx, id, procmgr.Kill); !errors.Is(err, procmgr.ErrNotRunning) {
		return err
	}
	return nil
}
