package procview

import (
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/toolproc/toolproc/procmgr"
)

// foreign returns why a request is not meant for this View, or "".
func (v *View) foreign(r *http.Request) string {
	if !knows(r.Host, v.opts.Hosts) {
		return "the request is for another host; the names of this one are set by Options.Hosts"
	}
	if v.opts.Loopback {
		from, to := net.ParseIP(hostName(r.RemoteAddr)), net.ParseIP(hostName(r.Host))
		if from == nil || !from.IsLoopback() || to != nil && !to.IsLoopback() {
			return "only this machine may ask"
		}
	}
	return ""
}

// crossSite returns why a request looks as if a page of another site had sent it, or "".
func crossSite(r *http.Request) string {
	if origins, ok := r.Header["Origin"]; ok {
		if len(origins) != 1 {
			return "the request has several origins"
		}
		origin, err := url.Parse(origins[0])
		if err != nil || origin.Host == "" || !strings.EqualFold(origin.Host, r.Host) {
			return "the request comes from a page of another site"
		}
	}
	switch r.Header.Get("Sec-Fetch-Site") {
	case "", "same-origin", "none":
		return ""
	}
	return "the request comes from a page of another site"
}

// refuse answers with the error of a manager.
func refuse(w http.ResponseWriter, err error) {
	status := http.StatusBadGateway
	for _, known := range []struct {
		err    error
		status int
	}{
		{procmgr.ErrNotFound, http.StatusNotFound},
		{procmgr.ErrNotRunning, http.StatusConflict},
		{procmgr.ErrConflict, http.StatusConflict},
		{procmgr.ErrInvalid, http.StatusBadRequest},
		{procmgr.ErrRefused, http.StatusForbidden},
		{errors.ErrUnsupported, http.StatusNotImplemented},
	} {
		if errors.Is(err, known.err) {
			status = known.status
			break
		}
	}
	fail(w, status, procmgr.Reason(err))
}
