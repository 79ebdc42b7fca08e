package procmgr

import (
	"errors"
	"regexp"
	"strings"
)

// Reason returns the part of a [Manager]'s error that is for a person or a model:
// the cause and the remedy. It leaves out the words that are for
// programs: the package, the call and the process ID in front, and the sentinel
// at the end. Words that a caller has put around the error stay. Reason of nil is
// "".
//
//	procmgr: start "x": no such directory: /y; name one that exists and can be entered: invalid request
//	no such directory: /y; name one that exists and can be entered
//
// The error of another Manager has a method Reason() string, or has the form of
// the first line. An error that is nothing but a sentinel keeps its text.
func Reason(err error) string {
	if err == nil {
		return ""
	}
	text := err.Error()
	var call interface {
		error
		Reason() string
	}
	if errors.As(err, &call) {
		if before, after, ok := strings.Cut(text, call.Error()); ok {
			return before + call.Reason() + after
		}
	}
	text = strings.TrimPrefix(text, callForm.FindString(text))
	for _, sentinel := range sentinels {
		if reason, ok := strings.CutSuffix(text, ": "+sentinel.Error()); ok && errors.Is(err, sentinel) {
			return reason
		}
	}
	return text
}

// callForm matches the words in front of the reason.
var callForm = regexp.MustCompile(`^[a-z]\w*: (start|output|input|list|signal|events|describe)( "([^"\\]|\\.)*")?: `)
