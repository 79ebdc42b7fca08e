//go:build linux || darwin || freebsd || netbsd || openbsd || dragonfly || windows

package osproc

// end marks the end of what can be read, once.
func (p *pipe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.endLocked()
	}
}

// close ends collect, whoever still holds the other end.
func (p *pipe) close() { _ = p.file.Close() }
