package holder

import "time"

// alarms are calls that the holder makes later. Its goroutine takes them from due
// and makes them, so they need no lock.
type alarms struct {
	timers map[string]*time.Timer
	due    chan func()
}

func newAlarms() alarms {
	return alarms{timers: make(map[string]*time.Timer), due: make(chan func())}
}

// after calls a function once the time is over, unless the same name is set
// again or unset before that.
func (a *alarms) after(name string, d time.Duration, do func()) {
	a.unset(name)
	var timer *time.Timer
	timer = time.AfterFunc(d, func() {
		a.due <- func() {
			if a.timers[name] == timer {
				delete(a.timers, name)
				do()
			}
		}
	})
	a.timers[name] = timer
}

func (a *alarms) unset(name string) {
	if t := a.timers[name]; t != nil {
		t.Stop()
		delete(a.timers, name)
	}
}
