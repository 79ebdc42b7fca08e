package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/toolproc/toolproc/chattool/toolset"
)

// A store has the calls of a model in a SQLite database.
type store struct{ db *sql.DB }

// A storedCall is one that the database has. Its outcome is "" until it has one.
type storedCall struct {
	call    toolset.Call
	outcome string
}

func open(ctx context.Context, file string) (*store, error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		return nil, err
	}
	_, err = db.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS calls (
		message INTEGER PRIMARY KEY,
		arguments BLOB NOT NULL,
		issued_at INTEGER NOT NULL, -- when the model's answer came, in nanoseconds
		outcome TEXT NOT NULL DEFAULT '',
		content TEXT NOT NULL DEFAULT '' -- what the model reads
	)`)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open %s: %w", file, err), db.Close())
	}
	return &store{db: db}, nil
}

func (s *store) close() error { return s.db.Close() }

// begin returns the call of a message. A new one is stored before it is carried out: from
// then on it is known when it was issued, whatever is killed.
func (s *store) begin(ctx context.Context, message int, command string) (storedCall, error) {
	args, err := arguments(command)
	if err != nil {
		return storedCall{}, err
	}
	_, err = s.db.ExecContext(ctx, `INSERT INTO calls (message, arguments, issued_at) VALUES (?, ?, ?) ON CONFLICT DO NOTHING`,
		message, []byte(args), time.Now().UnixNano())
	if err != nil {
		return storedCall{}, fmt.Errorf("store message %d: %w", message, err)
	}
	c := storedCall{call: toolset.Call{ID: fmt.Sprint(message), Name: "execute"}}
	var issued int64
	row := s.db.QueryRowContext(ctx, `SELECT arguments, issued_at, outcome FROM calls WHERE message = ?`, message)
	if err := row.Scan((*[]byte)(&c.call.Arguments), &issued, &c.outcome); err != nil {
		return storedCall{}, fmt.Errorf("read message %d: %w", message, err)
	}
	c.call.IssuedAt = time.Unix(0, issued)
	return c, nil
}

// finish stores what has come of a call.
func (s *store) finish(ctx context.Context, message int, outcome, content string) error {
	_, err := s.db.ExecContext(ctx, `UPDATE calls SET outcome = ?, content = ? WHERE message = ?`, outcome, content, message)
	if err != nil {
		return fmt.Errorf("store the result of message %d: %w", message, err)
	}
	return nil
}
