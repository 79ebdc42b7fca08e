package main

import (
	"net/url"
	"os"
	"path/filepath"

	"github.com/toolproc/toolproc/chattool/toolset"
)

// keepDir returns the directory of what outlives a run: the keeper and the
// cursors of conversations.
func keepDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(cache, "toolproc-agent"), nil
}

// A cursor is the file that says what the model of a conversation has been told.
// "" is none: nothing outlives the run.
type cursor string

// newCursor returns the cursor of a conversation.
func newCursor(keep bool, chat string) (cursor, error) {
	if !keep {
		return "", nil
	}
	dir, err := keepDir()
	return cursor(filepath.Join(dir, "told-"+url.PathEscape(chat))), err
}

// read returns what was written last, or "".
func (c cursor) read() string {
	if c == "" {
		return ""
	}
	text, _ := os.ReadFile(string(c)) // a new conversation has none
	return string(text)
}

// write replaces what was written last by the place at which an inbox is. If that
// fails, as on a full disk, the next run tells once more what this one has told.
func (c cursor) write(inbox *toolset.Inbox) {
	if c == "" {
		return
	}
	next := string(c) + ".new"
	if os.WriteFile(next, []byte(inbox.Ack(toolset.Notices{})), 0o600) == nil {
		_ = os.Rename(next, string(c))
	}
}
