package prochttp

func nobodyListens(error) bool { return false } // Plan 9 has no unix sockets
func isUnread(error) bool      { return false }
