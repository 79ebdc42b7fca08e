package toolset

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"

	"golang.org/x/xerrors"
)

// maxSeconds is the largest number that is taken as seconds where no unit is
// given. Models that are used to milliseconds write 120000 for two minutes;
// nobody writes more than an hour in bare seconds.
const maxSeconds = 3600

// duration is how long to wait; "" leaves it alone.
type duration time.Duration

func (d *duration) decode(raw json.RawMessage) error {
	value, ok := scalar(raw)
	if !ok || kind(raw) == "a boolean" {
		return xerrors.Errorf(`got %s, want a duration such as "30s" or "1m30s"`, kind(raw))
	}
	if value == "" {
		return nil
	}
	parsed, err := parseDuration(value)
	if err != nil {
		return err
	}
	*d = duration(parsed)
	return nil
}

// parseDuration reads a Go duration or a number of seconds.
func parseDuration(value string) (time.Duration, error) {
	if strings.Trim(value, "0123456789.eE+-") == "" {
		if seconds, err := strconv.ParseFloat(value, 64); err == nil || math.IsInf(seconds, 0) {
			return fromSeconds(value, seconds)
		}
	}
	d, err := time.ParseDuration(value)
	switch {
	case err != nil:
		return 0, xerrors.Errorf(`got %.60q, want a duration such as "30s" or "1m30s"`, value)
	case d < 0:
		return 0, negative(value)
	}
	return d, nil
}

// fromSeconds takes a number without a unit for seconds, unless it looks like
// milliseconds.
func fromSeconds(value string, seconds float64) (time.Duration, error) {
	const most = float64(math.MaxInt64 / int64(time.Second))
	switch {
	case seconds < 0:
		return 0, negative(value)
	case seconds <= maxSeconds:
		return time.Duration(math.Round(seconds * float64(time.Second))), nil
	case seconds >= most:
		return 0, xerrors.Errorf(`got %.60s, which is too long; want a duration such as "30s" or "1m30s"`, value)
	}
	asMilliseconds := time.Duration(seconds * float64(time.Millisecond))
	asSeconds := time.Duration(seconds * float64(time.Second))
	return 0, xerrors.Errorf("got %.60s without a unit: milliseconds would be %q, seconds would be %q; write the one that is meant",
		value, spell(asMilliseconds), spell(asSeconds))
}

func negative(value string) error {
	return xerrors.Errorf(`got %.60s, which is negative; want a duration such as "30s", or "0s" not to wait`, value)
}

// spell writes a duration as a person would: "4h", not "4h0m0s".
func spell(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// clamp cuts a wait to the longest that is allowed, and says so.
func (s *Set) clamp(name string, d duration) (wait time.Duration, note string) {
	wait = time.Duration(d)
	if wait <= s.opts.MaxTimeout {
		return wait, ""
	}
	return s.opts.MaxTimeout, name + " was cut from " + spell(wait) + " to the longest allowed, " + spell(s.opts.MaxTimeout) + "."
}
