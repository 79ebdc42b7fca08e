package filetool

import "github.com/toolproc/toolproc/procmgr/procfile"

// Files are the text files of one machine: [Local] here, and the Client of package
// prochttp elsewhere. The contract is that of package procfile.
type Files = procfile.Files

// The requests and results of Files, and its errors; see package procfile.
type (
	ReadRequest  = procfile.ReadRequest
	ReadResult   = procfile.ReadResult
	WriteRequest = procfile.WriteRequest
	WriteResult  = procfile.WriteResult
	EditRequest  = procfile.EditRequest
	EditResult   = procfile.EditResult
	FileEdit     = procfile.FileEdit
	Edit         = procfile.Edit
)

// Local are the files of this machine.
type (
	Local        = procfile.Local
	LocalOptions = procfile.LocalOptions
)

// NewLocal returns the files of this machine; see [procfile.NewLocal].
func NewLocal(opts *LocalOptions) (*Local, error) { return procfile.NewLocal(opts) }
