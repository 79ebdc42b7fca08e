package prochttp

import (
	"maps"
	"net/url"
	"slices"
	"strconv"
	"time"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/procmgr"
)

// An outputQuery is the query of an output.
type outputQuery struct {
	procmgr.OutputRequest
	// WaitID names the wait, so that the next request can continue it; "" if
	// the wait ends with its request.
	WaitID string
	// Left is how long the wait takes in all its slices from now on; 0 is not
	// known.
	Left time.Duration
}

func (q *outputQuery) parameters() parameters {
	return parameters{
		"from":            &q.From,
		"wait":            &q.Wait,
		"until":           &q.Until,
		"ports":           &q.Ports,
		"until_listening": &q.UntilListening,
		"members":         &q.Members,
		"until_waiting":   &q.UntilWaiting,
		"screen":          &q.Screen,
		"limit_bytes":     &q.Limit.Bytes,
		"limit_line":      &q.Limit.Line,
		"highlight":       &q.Highlight,
		"against":         &q.Against,
		"wait_id":         (*key)(&q.WaitID),
		"left":            &q.Left,
		"state":           (*string)(&q.State),
	}
}

func (q outputQuery) encode() string {
	q.From, q.Highlight = max(q.From, 0), max(q.Highlight, 0)
	return q.parameters().encode()
}

// An eventsQuery is the query of a page of events.
type eventsQuery procmgr.EventsRequest

func (q *eventsQuery) parameters() parameters {
	return parameters{"after": &q.After, "wait": &q.Wait, "limit": &q.Limit}
}

func (q eventsQuery) encode() string { return q.parameters().encode() }

// A listQuery is the query of a list. Without one, it is the whole list.
type listQuery procmgr.ListRequest

func (q *listQuery) parameters() parameters {
	return parameters{"state": (*string)(&q.State), "offset": &q.Offset, "limit": &q.Limit}
}

func (q listQuery) encode() string {
	q.Limit = max(q.Limit, 0)
	return q.parameters().encode()
}

// parameters are those of a query: where their values are, by their names. A
// value that is zero is not sent.
type parameters map[string]any

// A key is a parameter that is the name of a wait.
type key string

func (p parameters) encode() string {
	values := make(url.Values)
	for name, at := range p {
		text := ""
		switch at := at.(type) {
		case *string:
			text = *at
		case *key:
			text = string(*at)
		case *bool:
			if *at {
				text = "true"
			}
		case *int:
			if *at != 0 {
				text = strconv.Itoa(*at)
			}
		case *int64:
			if *at != 0 {
				text = strconv.FormatInt(*at, 10)
			}
		case *time.Duration:
			if *at > 0 {
				text = at.String()
			}
		}
		if text != "" {
			values.Set(name, text)
		}
	}
	return values.Encode()
}

// parse reads a query. It refuses a parameter that there is not: with a
// misspelled "until", the request would wait for something else.
func (p parameters) parse(query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return xerrors.Errorf("the query cannot be read (%v): %w", err, procmgr.ErrInvalid)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		at, known := p[name]
		switch all := values[name]; {
		case len(all) != 1:
			return xerrors.Errorf("the query has %q %d times: %w", name, len(all), procmgr.ErrInvalid)
		case !known:
			return xerrors.Errorf("the query has %q, which this endpoint does not know: %w", name, procmgr.ErrInvalid)
		case set(at, all[0]) != nil:
			return xerrors.Errorf("the query's %q cannot be %.80q: %w", name, all[0], procmgr.ErrInvalid)
		}
	}
	return nil
}

// set reads the value of a parameter.
func set(at any, text string) (err error) {
	switch at := at.(type) {
	case *string:
		*at = text
	case *key:
		*at, err = key(text), checkKey(text)
	case *bool:
		*at, err = strconv.ParseBool(text)
	case *int:
		*at, err = strconv.Atoi(text)
	case *int64:
		*at, err = strconv.ParseInt(text, 10, 64)
	case *time.Duration:
		*at, err = parseWait(text)
	}
	return err
}
