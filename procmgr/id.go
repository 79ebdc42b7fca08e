package procmgr

import (
	"crypto/rand"
	"strings"
)

// NewID returns a new process ID: 10 characters of lower-case base32, which are
// 50 random bits. It is short because models copy it. It is no secret: other
// chats cannot reach a process because it belongs to its chat, not because its
// ID is hard to guess.
func NewID() string { return strings.ToLower(rand.Text()[:10]) }
