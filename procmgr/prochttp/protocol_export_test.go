package prochttp

import (
	"github.com/toolproc/toolproc/headtail"
	"github.com/toolproc/toolproc/procmgr"
)

// The code's side of docs/protocol.md, for the test that compares the two.

// A ProtocolCode is a row of the table of codes.
type ProtocolCode struct {
	Code     string
	Status   int
	Sentinel error // nil: none
}

// ProtocolCodes returns the table of codes.
func ProtocolCodes() []ProtocolCode {
	all := make([]ProtocolCode, len(codes))
	for i, row := range codes {
		all[i] = ProtocolCode{string(row.code), row.status, row.sentinel}
	}
	return all
}

// ProtocolObjects returns a value of each type that crosses the wire, by the
// heading of its table.
func ProtocolObjects() map[string]any {
	return map[string]any{
		"Start request":     procmgr.StartRequest{},
		"Signal request":    signalBody{},
		"Input request":     inputBody{},
		"Screen object":     procmgr.Screen{},
		"Output request":    outputBody{},
		"List request":      procmgr.ListRequest{},
		"Events request":    procmgr.EventsRequest{},
		"Health object":     status{},
		"List object":       procmgr.ListPage{},
		"Machine object":    procmgr.Description{},
		"Error object":      failure{},
		"Output object":     procmgr.Output{},
		"Highlight object":  procmgr.Highlight{},
		"Socket object":     procmgr.Socket{},
		"Events object":     procmgr.EventPage{},
		"Event object":      procmgr.Event{},
		"Process object":    procmgr.Process{},
		"Truncation object": headtail.Truncation{},
		"Cut object":        headtail.Cut{},
		"Limits object":     headtail.Limits{},
		"Waiting object":    procmgr.Waiting{},
		"Changes object":    procmgr.Changes{},
		"Rules object":      procmgr.SandboxRules{},
	}
}
