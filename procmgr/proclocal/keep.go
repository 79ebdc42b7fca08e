package proclocal

import (
	"encoding/json"

	"github.com/toolproc/toolproc/procmgr/internal/capture"
	"github.com/toolproc/toolproc/procmgr/internal/carry"
)

// A localMemo is what a Keep is told of the Local itself.
type localMemo struct {
	Logs    *capture.LogsState `json:"logs,omitempty"`
	Cgroups string             `json:"cgroups,omitempty"`
}

// began tells the Keep of the Local itself. If that fails, the Local is closed.
func (l *Local) began() error {
	m, files := l.memo()
	data, _ := json.Marshal(m) // it has nothing that cannot be marshalled
	err := l.keep.Began(data, files)
	if err != nil {
		_ = l.Close() // nothing runs
	}
	return err
}

// memo returns what a Keep is told of the Local. The files stay the Local's.
func (l *Local) memo() (m localMemo, files []carry.File) {
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
	return m, files
}
