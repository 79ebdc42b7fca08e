package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/coder/acp-go-sdk"
	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// An agent serves one editor. Each of its sessions has a conversation of its own,
// and sees only the processes that it has started.
type agent struct {
	model endpoint
	log   *slog.Logger

	mu       sync.Mutex // guards the fields below
	conn     *acp.AgentSideConnection
	closed   bool
	sessions map[acp.SessionId]*session
}

var _ acp.Agent = (*agent)(nil)

func newAgent(model endpoint, log *slog.Logger) *agent {
	return &agent{model: model, log: log, sessions: make(map[acp.SessionId]*session)}
}

// connect begins to serve.
func (a *agent) connect(in io.Reader, out io.Writer) *acp.AgentSideConnection {
	a.mu.Lock() // a request may come before conn is set
	defer a.mu.Unlock()
	a.conn = acp.NewAgentSideConnection(a, out, in)
	a.conn.SetLogger(a.log)
	return a.conn
}

// close ends all sessions.
func (a *agent) close() error {
	a.mu.Lock()
	a.closed = true
	sessions := a.sessions
	a.sessions = nil
	a.mu.Unlock()
	var all sync.WaitGroup // each may take a moment
	errs := make([]error, len(sessions))
	for i, s := range slices.Collect(maps.Values(sessions)) {
		all.Go(func() { errs[i] = s.close() })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Initialize implements acp.Agent.
func (a *agent) Initialize(context.Context, acp.InitializeRequest) (acp.InitializeResponse, error) {
	return acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersionNumber,
		AgentInfo:       &acp.Implementation{Name: "toolproc", Version: "0.1.0"},
		AgentCapabilities: acp.AgentCapabilities{
			PromptCapabilities:  acp.PromptCapabilities{EmbeddedContext: true},
			SessionCapabilities: acp.SessionCapabilities{Close: &acp.SessionCloseCapabilities{}},
		},
		AuthMethods: []acp.AuthMethod{},
	}, nil
}

// NewSession implements acp.Agent.
func (a *agent) NewSession(_ context.Context, p acp.NewSessionRequest) (acp.NewSessionResponse, error) {
	info, err := os.Stat(p.Cwd)
	if err == nil && !(filepath.IsAbs(p.Cwd) && info.IsDir()) {
		err = xerrors.Errorf("%s is no directory with an absolute path", p.Cwd)
	}
	if err != nil {
		return acp.NewSessionResponse{}, acp.NewInvalidParams(map[string]any{"error": err.Error()})
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return acp.NewSessionResponse{}, errors.New("the agent ends")
	}
	s, err := newSession(acp.SessionId(procmgr.NewID()), p.Cwd, a.model, a.conn)
	if err != nil {
		return acp.NewSessionResponse{}, err
	}
	a.sessions[s.id] = s
	return acp.NewSessionResponse{SessionId: s.id}, nil
}

// session returns a session, or an error for the editor.
func (a *agent) session(id acp.SessionId) (*session, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s := a.sessions[id]; s != nil {
		return s, nil
	}
	return nil, acp.NewInvalidParams(map[string]any{"error": "there is no session " + string(id)})
}

// Prompt implements acp.Agent.
func (a *agent) Prompt(ctx context.Context, p acp.PromptRequest) (acp.PromptResponse, error) {
	s, err := a.session(p.SessionId)
	if err != nil {
		return acp.PromptResponse{}, err
	}
	reason, err := s.prompt(ctx, p.Prompt)
	return acp.PromptResponse{StopReason: reason}, err
}

// Cancel implements acp.Agent.
func (a *agent) Cancel(_ context.Context, p acp.CancelNotification) error {
	s, err := a.session(p.SessionId)
	if err == nil {
		s.cancel()
	}
	return err
}

// CloseSession implements acp.Agent. It ends the session's processes.
func (a *agent) CloseSession(_ context.Context, p acp.CloseSessionRequest) (acp.CloseSessionResponse, error) {
	s, err := a.session(p.SessionId)
	if err != nil {
		return acp.CloseSessionResponse{}, err
	}
	a.mu.Lock()
	delete(a.sessions, p.SessionId)
	a.mu.Unlock()
	return acp.CloseSessionResponse{}, s.close()
}

// Authenticate implements acp.Agent. The editor need not call it.
func (a *agent) Authenticate(context.Context, acp.AuthenticateRequest) (acp.AuthenticateResponse, error) {
	return acp.AuthenticateResponse{}, nil
}

// ListSessions implements acp.Agent. Sessions end with the program.
func (a *agent) ListSessions(context.Context, acp.ListSessionsRequest) (acp.ListSessionsResponse, error) {
	return acp.ListSessionsResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionList)
}

// ResumeSession implements acp.Agent.
func (a *agent) ResumeSession(context.Context, acp.ResumeSessionRequest) (acp.ResumeSessionResponse, error) {
	return acp.ResumeSessionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionResume)
}

// SetSessionConfigOption implements acp.Agent. There are no options.
func (a *agent) SetSessionConfigOption(context.Context, acp.SetSessionConfigOptionRequest) (acp.SetSessionConfigOptionResponse, error) {
	return acp.SetSessionConfigOptionResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetConfigOption)
}

// SetSessionMode implements acp.Agent. There are no modes.
func (a *agent) SetSessionMode(context.Context, acp.SetSessionModeRequest) (acp.SetSessionModeResponse, error) {
	return acp.SetSessionModeResponse{}, acp.NewMethodNotFound(acp.AgentMethodSessionSetMode)
}
