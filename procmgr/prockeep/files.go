package prockeep

import (
	"context"
	"errors"

	"github.com/toolproc/toolproc/procmgr"
	"github.com/toolproc/toolproc/procmgr/procfile"
)

var (
	_ procfile.Files = (*Keeper)(nil)
	_ procfile.Files = (*manager)(nil)
)

// Read implements [procfile.Files] with the files that this user can read and write.
// Relative paths begin in this program's current directory, and the values of its
// secrets are masked. The Manager that Chat returns implements it too.
func (k *Keeper) Read(ctx context.Context, req procfile.ReadRequest) (procfile.ReadResult, error) {
	return k.all.Read(ctx, req)
}

// Write implements [procfile.Files] as Read does.
func (k *Keeper) Write(ctx context.Context, req procfile.WriteRequest) (procfile.WriteResult, error) {
	return k.all.Write(ctx, req)
}

// Edit implements [procfile.Files] as Read does.
func (k *Keeper) Edit(ctx context.Context, req procfile.EditRequest) (procfile.EditResult, error) {
	return k.all.Edit(ctx, req)
}

func (m *manager) Read(ctx context.Context, req procfile.ReadRequest) (procfile.ReadResult, error) {
	return askFiles(ctx, m, "read", func(files procfile.Files) (procfile.ReadResult, error) { return files.Read(ctx, req) })
}

func (m *manager) Write(ctx context.Context, req procfile.WriteRequest) (procfile.WriteResult, error) {
	if req.Key == "" {
		req.Key = procmgr.NewID()
	}
	return askFiles(ctx, m, "write", func(files procfile.Files) (procfile.WriteResult, error) { return files.Write(ctx, req) })
}

func (m *manager) Edit(ctx context.Context, req procfile.EditRequest) (procfile.EditResult, error) {
	if req.Key == "" {
		req.Key = procmgr.NewID()
	}
	return askFiles(ctx, m, "edit", func(files procfile.Files) (procfile.EditResult, error) { return files.Edit(ctx, req) })
}

// askFiles asks a keeper that lives. If that one ends before it has done anything,
// askFiles asks the next one.
func askFiles[T any](ctx context.Context, m *manager, call string, do func(procfile.Files) (T, error)) (T, error) {
	for p := new(patience); ; {
		now, err := m.ready(ctx, call)
		if err != nil {
			var none T
			return none, err
		}
		res, err := do(m.view(m.k.client.OfKeeper(now.base(m.k.redact))).(procfile.Files))
		switch {
		case err == nil:
			return res, nil
		case errors.Is(err, procmgr.ErrClosed):
			now.close() // this keeper is about to end and has written nothing; the next one will
		case !unheard(err):
			return res, err
		}
		if !p.again(ctx) {
			return res, err
		}
	}
}
