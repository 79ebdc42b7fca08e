package main

import (
	"fmt"
	"regexp"
	"strings"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/headtail"
)

// A result is the JSON object that the model reads, from any of the tools.
type result struct {
	Success             bool                 `json:"success"`
	Output              string               `json:"output"`
	ExitCode            *int                 `json:"exit_code"`
	State               string               `json:"state"`
	Error               string               `json:"error"`
	Truncated           *headtail.Truncation `json:"truncated"`
	BackgroundProcessID string               `json:"background_process_id"`
	NextOffset          int64                `json:"next_offset"`
	Processes           []listed             `json:"processes"`

	isError bool // the tool could not carry out the call
}

// listed is a process in a result of process_list.
type listed struct {
	ProcessID string `json:"process_id"`
	Command   string `json:"command"`
	State     string `json:"state"`
	ExitCode  *int   `json:"exit_code"`
}

// exited returns an error unless a command has exited with the code.
func (r result) exited(code int) error {
	if r.isError || r.State != "exited" || r.ExitCode == nil || *r.ExitCode != code {
		return xerrors.Errorf("want exit code %d, got %s", code, r.tell())
	}
	return nil
}

// lives returns an error unless a process runs and its ID is known.
func (r result) lives() error {
	if r.isError || r.State != "running" || r.BackgroundProcessID == "" {
		return xerrors.Errorf("want a process that runs, got %s", r.tell())
	}
	return nil
}

// prints returns an error unless the output contains the text.
func (r result) prints(text string) error {
	if !strings.Contains(r.Output, text) {
		return xerrors.Errorf("want the output %q, got %s", text, r.tell())
	}
	return nil
}

func (r result) tell() string {
	code := "none"
	if r.ExitCode != nil {
		code = fmt.Sprint(*r.ExitCode)
	}
	return fmt.Sprintf("state %q, exit code %s, error %q, output %.500q", r.State, code, r.Error, r.Output)
}

// memory is the knowledge of the model from the results so far.
type memory struct {
	failure  string // the output of the test
	server   string // process ID
	heard    int64  // offset up to which the server's output has been read
	address  string
	logBytes int64  // length of the log
	logShown int64  // how many of these bytes were in the result
	report   string // process ID
	reported int64  // offset up to which the report has been read
}

// arguments are the arguments of a call, of any tool.
type arguments struct {
	Command     string `json:"command,omitempty"`
	Timeout     string `json:"timeout,omitempty"`
	ProcessID   string `json:"process_id,omitempty"`
	WaitTimeout string `json:"wait_timeout,omitempty"`
	Since       int64  `json:"since,omitempty"`
	WaitFor     string `json:"wait_for,omitempty"`
	Signal      string `json:"signal,omitempty"`
}

// A scene is one step of the model: its words, its call, and how it reads the
// result. reads returns an error if the result is not the expected one.
type scene struct {
	says  func(m *memory) string
	tool  string
	asks  func(m *memory) arguments
	reads func(m *memory, r result) error
}

var listening = regexp.MustCompile(`listening on (http://127\.0\.0\.1:\d+)`)

var script = []scene{
	{
		says: words("A page first, and a test for it."),
		tool: "execute",
		asks: command(`echo 'Hello, world' > page.txt
cat > test.sh <<'EOF'
read -r line < page.txt
case $line in
*!) echo "page.txt: good" ;;
*) echo "page.txt: line 1 should end with a !" >&2; exit 3 ;;
esac
EOF`),
		reads: func(_ *memory, r result) error { return r.exited(0) },
	},
	{
		says: words("Does the page pass?"),
		tool: "execute",
		asks: command("sh test.sh"),
		reads: func(m *memory, r result) error {
			if m.failure = strings.TrimSpace(r.Output); r.Success {
				return xerrors.Errorf("want a failure, got %s", r.tell())
			}
			return first(r.exited(3), r.prints("should end with"))
		},
	},
	{
		says: func(m *memory) string {
			return fmt.Sprintf("Exit code 3, so that is the test's own verdict: %q. That is easily mended.", m.failure)
		},
		tool:  "execute",
		asks:  command("echo 'Hello, world!' > page.txt && sh test.sh"),
		reads: func(_ *memory, r result) error { return first(r.exited(0), r.prints("good")) },
	},
	{
		says: words("Now the server. It must not keep me waiting, hence the &."),
		tool: "execute",
		asks: command("./hello serve &"),
		reads: func(m *memory, r result) error {
			m.server = r.BackgroundProcessID
			return r.lives()
		},
	},
	{
		says: words("I wait for the line with its address, and not a moment longer."),
		tool: "process_output",
		asks: func(m *memory) arguments {
			return arguments{ProcessID: m.server, WaitTimeout: "30s", WaitFor: "listening on http"}
		},
		reads: func(m *memory, r result) error {
			if found := listening.FindStringSubmatch(r.Output); found != nil {
				m.address = found[1]
			}
			m.heard = r.NextOffset
			return first(r.lives(), r.prints("listening on http://127.0.0.1:"))
		},
	},
	{
		says:  func(m *memory) string { return "It is up, at " + m.address + ". What does it serve?" },
		tool:  "execute",
		asks:  func(m *memory) arguments { return arguments{Command: "./hello get " + m.address} },
		reads: func(_ *memory, r result) error { return first(r.exited(0), r.prints("Hello, world!\n")) },
	},
	{
		says: words("The page is there. And the log?"),
		tool: "execute",
		asks: func(m *memory) arguments { return arguments{Command: "./hello get " + m.address + "/log"} },
		reads: func(m *memory, r result) error {
			if r.Truncated == nil {
				return xerrors.Errorf("want a shortened output, got %d bytes", len(r.Output))
			}
			m.logBytes, m.logShown = r.Truncated.OriginalBytes, r.Truncated.RetainedBytes
			return first(r.exited(0), r.prints("00001 all is well"), r.prints(fmt.Sprintf("%05d all is well", logLines)))
		},
	},
	{
		says: func(m *memory) string {
			return fmt.Sprintf("%d bytes, of which I was spared all but %d: the beginning and the end. Last, the report, which should take no more than a second.",
				m.logBytes, m.logShown)
		},
		tool: "execute",
		asks: func(m *memory) arguments {
			return arguments{Command: "./hello get " + m.address + "/report", Timeout: "1s"}
		},
		reads: func(m *memory, r result) error {
			if m.report, m.reported = r.BackgroundProcessID, r.NextOffset; r.Success {
				return xerrors.Errorf("want a timeout, got %s", r.tell())
			}
			return first(r.lives(), r.prints("report: counting\n"))
		},
	},
	{
		says: words("It takes longer. It was not killed, so I need not run it again: I wait on, and read only what is new."),
		tool: "process_output",
		asks: func(m *memory) arguments {
			return arguments{ProcessID: m.report, WaitTimeout: "1m", Since: m.reported}
		},
		reads: func(_ *memory, r result) error {
			if strings.Contains(r.Output, "counting") {
				return xerrors.Errorf("want only what is new, got %s", r.tell())
			}
			return first(r.exited(0), r.prints("all of it good\n"))
		},
	},
	{
		says: words("Did the server see one request of each kind?"),
		tool: "process_output",
		asks: func(m *memory) arguments {
			return arguments{ProcessID: m.server, WaitTimeout: "0s", Since: m.heard}
		},
		reads: func(_ *memory, r result) error {
			if r.Output != "GET /\nGET /log\nGET /report\n" {
				return xerrors.Errorf("want one line for each of three requests, got %s", r.tell())
			}
			return r.lives()
		},
	},
	{
		says: words("One each. What is still running?"),
		tool: "process_list",
		asks: func(*memory) arguments { return arguments{} },
		reads: func(m *memory, r result) error {
			if running := r.running(); len(running) != 1 || running[0] != m.server {
				return xerrors.Errorf("want only the server %s to run, got %q", m.server, running)
			}
			return nil
		},
	},
	{
		says: words("Only the server. It goes."),
		tool: "process_signal",
		asks: func(m *memory) arguments { return arguments{ProcessID: m.server, Signal: "terminate"} },
		reads: func(_ *memory, r result) error {
			if !r.Success || r.State != "exited" {
				return xerrors.Errorf("want it to be gone, got %s", r.tell())
			}
			return nil
		},
	},
	{
		says: func(m *memory) string {
			return "Done. The page passes its test, the server answered at " + m.address +
				", the report is good, and nothing is left running."
		},
	},
}

// words returns words that do not depend on the memory.
func words(s string) func(*memory) string { return func(*memory) string { return s } }

// command returns the arguments of execute for a command that does not depend
// on the memory.
func command(line string) func(*memory) arguments {
	return func(*memory) arguments { return arguments{Command: line} }
}

// running returns the IDs of the processes in a list that have not exited.
func (r result) running() []string {
	var ids []string
	for _, p := range r.Processes {
		if p.State != "exited" {
			ids = append(ids, p.ProcessID)
		}
	}
	return ids
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
