package arguments

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode"

	"golang.org/x/xerrors"

	"github.com/toolproc/toolproc/chattool/internal/wording"
)

// maxSeconds is the largest number without a unit that counts as seconds.
// Models that are used to milliseconds write 1000 for a second and 120000 for
// two minutes. Few models write more than ten minutes in seconds.
const maxSeconds = 600

// mostSeconds is the longest time.Duration, in seconds.
const mostSeconds = float64(math.MaxInt64 / int64(time.Second))

// unitSeconds are the units that people write, in seconds.
var unitSeconds = map[string]float64{
	"ms": 0.001, "msec": 0.001, "msecs": 0.001, "millisecond": 0.001, "milliseconds": 0.001,
	"s": 1, "sec": 1, "secs": 1, "second": 1, "seconds": 1,
	"m": 60, "min": 60, "mins": 60, "minute": 60, "minutes": 60,
	"h": 3600, "hr": 3600, "hrs": 3600, "hour": 3600, "hours": 3600,
}

// Duration is how long to wait; "" leaves it alone.
type Duration time.Duration

func (d *Duration) decode(raw json.RawMessage) error {
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
	*d = Duration(parsed)
	return nil
}

// parseDuration reads a Go duration, a duration as people write it ("10
// minutes", "1 hr, 5 min."), or a number of seconds.
func parseDuration(value string) (time.Duration, error) {
	if strings.Trim(value, "0123456789.eE+-") == "" {
		if seconds, err := strconv.ParseFloat(value, 64); err == nil || math.IsInf(seconds, 0) {
			return fromSeconds(value, seconds)
		}
	}
	d, err := time.ParseDuration(value)
	if err != nil {
		amount, minus := strings.CutPrefix(value, "-")
		seconds, ok := inSeconds(strings.ToLower(amount))
		switch {
		case !ok:
			return 0, xerrors.Errorf(`got %.60q, want a duration such as "30s" or "1m30s"`, value)
		case minus:
			return 0, negative(value)
		case seconds >= mostSeconds:
			return 0, tooLong(value)
		}
		d = fromFloat(seconds)
	}
	if d < 0 {
		return 0, negative(value)
	}
	return d, nil
}

// inSeconds returns the sum of several amounts with units, in seconds.
func inSeconds(value string) (total float64, ok bool) {
	letter := func(r rune) bool { return 'a' <= r && r <= 'z' }
	for value != "" {
		number := value[:len(value)-len(strings.TrimLeft(value, "0123456789."))]
		n, err := strconv.ParseFloat(number, 64)
		if err != nil {
			return 0, false
		}
		value = strings.TrimLeftFunc(value[len(number):], unicode.IsSpace)
		unit := value[:len(value)-len(strings.TrimLeftFunc(value, letter))]
		each, known := unitSeconds[unit]
		if !known {
			return 0, false
		}
		total += n * each
		value = strings.TrimPrefix(value[len(unit):], ".")
		value = strings.TrimLeftFunc(value, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
		value = strings.TrimPrefix(value, "and ")
	}
	return total, true
}

// fromSeconds takes a number without a unit for seconds, or returns an error if
// it looks like milliseconds.
func fromSeconds(value string, seconds float64) (time.Duration, error) {
	switch {
	case seconds < 0:
		return 0, negative(value)
	case seconds <= maxSeconds:
		return fromFloat(seconds), nil
	case seconds >= mostSeconds:
		return 0, tooLong(value)
	}
	asMilliseconds := time.Duration(seconds * float64(time.Millisecond))
	asSeconds := time.Duration(seconds * float64(time.Second))
	return 0, xerrors.Errorf("got %.60s without a unit: milliseconds would be %q, seconds would be %q; write the one that is meant",
		value, wording.Duration(asMilliseconds), wording.Duration(asSeconds))
}

// fromFloat converts seconds to a duration, which must be able to hold them.
func fromFloat(seconds float64) time.Duration {
	return time.Duration(math.Round(seconds * float64(time.Second)))
}

func tooLong(value string) error {
	return xerrors.Errorf(`got %.60s, which is too long; want a duration such as "30s" or "1m30s"`, value)
}

func negative(value string) error {
	return xerrors.Errorf(`got %.60s, which is negative; want a duration such as "30s", or "0s" not to wait`, value)
}
