// Package vault keeps the values to mask in memory that outlives the program, if
// another one has the file. They are never written to a disk.
package vault

import (
	"cmp"
	"encoding/json"
	"io"
	"os"
	"slices"
	"sync"

	"github.com/toolproc/toolproc/procmgr/internal/redact"
)

// maxValues is how many values are kept: those that were used last. A program that
// gives each command a token of its own does not fill the memory.
const maxValues = 1024

// A Vault has values. A nil one has none.
type Vault struct {
	mu     sync.Mutex // guards the fields below
	values []redact.Value
	used   map[redact.Value]uint64 // when it was used last
	time   uint64
	file   *os.File // nil if there is none, or if the system has no such memory
}

// Open returns a Vault with the values of another program's file, which it takes over;
// nil for none.
func Open(file *os.File) *Vault {
	v := &Vault{used: make(map[redact.Value]uint64), file: file}
	if file == nil {
		return v
	}
	var values []redact.Value
	if data, err := io.ReadAll(io.NewSectionReader(file, 0, 1<<40)); err == nil {
		_ = json.Unmarshal(data, &values) // another program's memory: what cannot be read masks nothing
	}
	for _, value := range values {
		v.values = append(v.values, value)
		v.used[value] = 0
	}
	return v
}

// Values returns all values.
func (v *Vault) Values() []redact.Value {
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Clone(v.values)
}

// Add notes that values are used. If one of them is new, it calls changed with the new
// file, which is the Vault's; nil if the system has no such memory. If that fails, the
// value is as new as before.
func (v *Vault) Add(values []redact.Value, changed func(*os.File) error) error {
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	v.time++
	var added []redact.Value
	for _, value := range values {
		if _, known := v.used[value]; !known {
			added = append(added, value)
		}
		v.used[value] = v.time
	}
	if len(added) == 0 {
		return nil
	}
	all := slices.Concat(v.values, added)
	over := max(0, len(all)-maxValues)
	if over > 0 {
		slices.SortStableFunc(all, func(a, b redact.Value) int { return cmp.Compare(v.used[a], v.used[b]) })
	}
	data, _ := json.Marshal(all[over:]) // strings can always be written
	file, err := memory(data)
	if err == nil {
		if err = changed(file); err != nil && file != nil {
			_ = file.Close() // it is in memory
		}
	}
	if err != nil {
		for _, value := range added {
			delete(v.used, value)
		}
		return err
	}
	for _, value := range all[:over] {
		delete(v.used, value)
	}
	before := v.file
	v.values, v.file = all[over:], file
	if before != nil {
		_ = before.Close() // it is in memory
	}
	return nil
}

// File returns the file for another program, or nil. It stays the Vault's, until the
// next Add.
func (v *Vault) File() *os.File {
	if v == nil {
		return nil
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.file
}

// Close gives up the memory.
func (v *Vault) Close() {
	if v == nil || v.file == nil {
		return
	}
	_ = v.file.Close() // it is in memory
}
