package procmgr

// WithoutPidfd makes a Local do without pidfds, as on an old kernel.
func WithoutPidfd(o *Options) *Options {
	var c Options
	if o != nil {
		c = *o
	}
	c.noPidfd = true
	return &c
}

// WithVmstat makes a Local read the kernel's counters from a file.
func WithVmstat(o *Options, file string) *Options {
	c := *o
	c.vmstat = file
	return &c
}
