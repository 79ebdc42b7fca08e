package capture

import "hash/maphash"

// Whole returns all of the output of a stream that has ended. ok is false if it has
// not ended, if it has over most bytes, or if the window and the log have not all
// of it. A command can write to a log's file. So the log counts only if it has the
// bytes that this program has written to it.
func (s *Stream) Whole(most int64) (text string, ok bool) {
	s.mu.Lock()
	ended := s.ended && s.lost == 0
	s.mu.Unlock()
	if total := s.buf.Total(); !ended || total > most {
		return "", false
	}
	switch snap := s.buf.Snapshot(0); {
	case snap.Gap == 0:
		return string(snap.Head) + string(snap.Tail), true
	case s.log == nil:
		return "", false
	default:
		s.awaitLog()
		return s.log.whole(snap.Total)
	}
}

// whole returns the bytes of a log, if they are as many as the stream has and as
// they were written.
func (g *logFile) whole(total int64) (text string, ok bool) {
	p := g.read(0, total)
	g.mu.Lock()
	defer g.mu.Unlock()
	if int64(len(p)) != total || g.summed != total || maphash.Bytes(g.sum.Seed(), p) != g.sum.Sum64() {
		return "", false
	}
	return string(p), true
}
