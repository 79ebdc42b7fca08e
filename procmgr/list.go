package procmgr

import "github.com/toolproc/toolproc/procmgr/internal/paging"

// A ListRequest selects processes. The zero value selects all.
type ListRequest struct {
	// State is the state of the wanted processes; "" is any.
	State State `json:"state,omitempty"`
	// Offset is how many processes to leave out at the beginning.
	Offset int `json:"offset,omitzero"`
	// Limit is the largest number of processes in the page; 0 or a negative
	// number is no limit.
	Limit int `json:"limit,omitzero"`
}

// A ListPage is a part of a list. Running processes come first, then detached ones,
// then exited background processes, and then all other exited processes. Within each
// kind the newest comes first.
type ListPage struct {
	Processes []Process `json:"processes"`
	// Total is the number of processes in the requested state, and Live the number of
	// processes among them that have not exited; these come first. Both also count the
	// processes before and after the page.
	Total int `json:"total"`
	Live  int `json:"live"`
}

// PageOf returns the page that a request asks for, out of all processes in the
// order of their starts, the oldest first. It serves a [Manager] that keeps a
// plain list. An unknown State, and an Offset below 0, are [ErrInvalid]. The page
// shares only the values that the processes point to with all.
func PageOf(all []Process, req ListRequest) (page ListPage, err error) {
	picked, total, live, err := paging.Pick(len(all), paging.Request{State: string(req.State), Offset: req.Offset, Limit: req.Limit}, func(i int) (state string, background, ok bool) {
		return string(all[i].State), all[i].Background, true
	})
	page.Total, page.Live = total, live
	for _, i := range picked {
		page.Processes = append(page.Processes, all[i])
	}
	return page, err
}
