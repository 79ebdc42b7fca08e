package procnats

import (
	"net/http"
	"time"
)

// AskAfter has a transport ask after a shorter silence whether the machine is
// there.
func AskAfter(t http.RoundTripper, d time.Duration) http.RoundTripper {
	t.(*transport).askTime = d
	return t
}
