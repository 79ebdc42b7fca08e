package proclocal

import (
	"encoding/json"
	"os"

	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
	"github.com/toolproc/toolproc/procmgr/internal/redact"
)

// A localMemo is what a Keep is told of the Local itself.
type localMemo struct {
	Logs    *capture.LogsState `json:"logs,omitempty"`
	Cgroups string             `json:"cgroups,omitempty"`
}

// began tells the Keep of the Local itself. If that fails, the Local is closed.
func (l *Local) began() error {
	m, files := l.memo(l.vault.File())
	data, _ := json.Marshal(m) // it has nothing that cannot be marshalled
	err := l.keep.Began(data, files)
	if err != nil {
		_ = l.Close() // nothing runs
	}
	return err
}

// remember lets the next program mask the values of a start too. It has them in memory
// alone.
func (l *Local) remember(values []redact.Value) error {
	return l.vault.Add(values, func(file *os.File) error {
		m, files := l.memo(file)
		data, _ := json.Marshal(m) // it has nothing that cannot be marshalled
		return l.keep.Began(data, files)
	})
}

// memo returns what a Keep is told of the Local, which has its secrets in a file; nil
// for none. The files stay the Local's.
func (l *Local) memo(secrets *os.File) (m localMemo, files []carry.File) {
	if l.logs != nil {
		state, lock := l.logs.Save()
		m.Logs = &state
		files = append(files, carry.File{Role: carry.LogLock, FD: int(lock.Fd())})
	}
	if dir, lock := l.system.Cgroups(); lock != nil {
		m.Cgroups = dir
		files = append(files, carry.File{Role: carry.Cgroups, FD: int(lock.Fd())})
	}
	if file := l.tallies.File(); file != nil {
		files = append(files, carry.File{Role: carry.Tally, FD: int(file.Fd())})
	}
	if secrets != nil {
		files = append(files, carry.File{Role: carry.Secrets, FD: int(secrets.Fd())})
	}
	return m, files
}
